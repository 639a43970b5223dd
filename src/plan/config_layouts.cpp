#include "plan/config_layouts.h"

#include <algorithm>

#include "plan/family.h"

// Facts: sub_configs_defaults of the transformers 5.23.0 class named by the stem; Kimi K3: its published files.
namespace posenc::plan {
namespace {

constexpr TypeRule kOwn = TypeRule::own;
constexpr TypeRule kFixed = TypeRule::fixed;

// ---- keys of objects ----
constexpr std::string_view kText[] = {"text_config"};
constexpr std::string_view kLanguage[] = {"language_config", "text_config"};
constexpr std::string_view kDecoder[] = {"decoder_config", "text_config"};
constexpr std::string_view kMusicDecoder[] = {"decoder"};
constexpr std::string_view kSemantic[] = {"semantic_config"};
constexpr std::string_view kEncoder[] = {"encoder_config"};
constexpr std::string_view kAnyText[] = {"text_config", "llm_config", "language_config", "decoder_config"};
constexpr OtherPlace kAnyOther[] = {{.object = "vision_config"},
                                    {.object = "audio_config"},
                                    {.object = "siglip_config"},
                                    {.object = "acoustic_tokenizer_config"},
                                    {.object = "semantic_tokenizer_config"}};

// ---- stacks beside the text ----
constexpr OtherPlace kClipVision[] = {{"vision_config", "clip_vision_model"}};
constexpr OtherPlace kSiglipVision[] = {{"vision_config", "siglip_vision_model"}};
constexpr OtherPlace kPixtralVision[] = {{"vision_config", "pixtral"}};
constexpr OtherPlace kGitVision[] = {{"vision_config", "git_vision_model", kFixed}};
constexpr OtherPlace kGemma4Others[] = {{"vision_config", "gemma4_vision"}, {"audio_config", "gemma4_audio"}};
constexpr OtherPlace kLlama4Vision[] = {{"vision_config", "llama4_vision_model", kFixed}};
constexpr OtherPlace kMllamaVision[] = {{"vision_config", "mllama_vision_model", kFixed}};
constexpr OtherPlace kGlm4vVision[] = {{"vision_config", "glm4v_vision", kFixed}};
constexpr OtherPlace kGlm4vMoeVision[] = {{"vision_config", "glm4v_moe_vision", kFixed}};
constexpr OtherPlace kQwen2VlVision[] = {{"vision_config", "qwen2_vl_vision", kFixed}};
constexpr OtherPlace kQwen25VlVision[] = {{"vision_config", "qwen2_5_vl_vision", kFixed}};
constexpr OtherPlace kQwen3VlVision[] = {{"vision_config", "qwen3_vl_vision", kFixed}};
constexpr OtherPlace kQwen3VlMoeVision[] = {{"vision_config", "qwen3_vl_moe_vision", kFixed}};
constexpr OtherPlace kQwen35Vision[] = {{"vision_config", "qwen3_5_vision", kFixed}};
constexpr OtherPlace kQwen35MoeVision[] = {{"vision_config", "qwen3_5_moe_vision", kFixed}};
constexpr OtherPlace kKimiK25Vision[] = {{"vision_config", "kimi_k25_vision", kFixed}};
constexpr OtherPlace kKimiK3Vision[] = {{"vision_config", "kimi_k3_vision", kFixed}};
constexpr OtherPlace kMiniCpm46Vision[] = {{"vision_config", "minicpmv4_6_vision", kFixed},
                                           {"vision_config", "minicpmv4_6_vision_merger", kFixed}};
constexpr OtherPlace kMiniCpmVision[] = {{"vision_config", "siglip_vision_model"},
                                         {"query_num", "resampler", kFixed, true}};
constexpr OtherPlace kQwen2Audio[] = {{"audio_config", "qwen2_audio_encoder"}};
constexpr OtherPlace kVoxtralAudio[] = {{"audio_config", "voxtral_encoder"}};
constexpr OtherPlace kFlamingoAudio[] = {{"audio_config", "audioflamingo3_encoder"}};
constexpr OtherPlace kGlmAsrAudio[] = {{"audio_config", "glmasr_encoder", kOwn, false, "audio"}};
constexpr OtherPlace kParakeetEncoder[] = {{"encoder_config", "parakeet_encoder", kOwn, false, "encoder"}};
// The codec that is not named, EnCodec, has convolutions and an LSTM: no position is told.
constexpr OtherPlace kPromptEncoder[] = {{"text_encoder", "t5", kOwn, false, "text_encoder", true}};
constexpr OtherPlace kBarkAcoustics[] = {
    {"coarse_acoustics_config", "coarse_acoustics", kFixed, false, "coarse_acoustics"},
    {"fine_acoustics_config", "fine_acoustics", kFixed, false, "fine_acoustics"}};
constexpr OtherPlace kMoshiOthers[] = {{"depth_decoder_config", "moshi_depth", kFixed, false, "depth_decoder"},
                                       {"audio_encoder_config", "mimi", kOwn, false, "codec"}};
constexpr OtherPlace kCsmOthers[] = {
    {"depth_decoder_config", "csm_depth_decoder_model", kFixed, false, "depth_decoder"},
    {"codec_config", "mimi", kOwn, false, "codec"}};
constexpr OtherPlace kMimiCodec[] = {{"codec_config", "mimi", kOwn, false, "codec"}};
constexpr OtherPlace kUnlimitedOcrVision[] = {
    {"vision_config/width/sam_vit_b", "unlimited_ocr_sam_vision_model", kFixed},
    {"vision_config/sam_config", "unlimited_ocr_sam_vision_model", kFixed},
    {"vision_config/width/clip-l-14-224", "unlimited_ocr_vision_encoder", kFixed},
    {"vision_config/encoder_config", "unlimited_ocr_vision_encoder", kFixed}};
constexpr OtherPlace kVibeVoiceTokenizers[] = {{"acoustic_tokenizer_config", "vibevoice_acoustic_tokenizer", kFixed},
                                               {"semantic_tokenizer_config", "vibevoice_semantic_tokenizer", kFixed}};

constexpr ImageMask kImageSeesItself{.detail =
                                         "the tokens of one image see each other both ways, within the window"};

// ---- names ----
constexpr std::string_view kLlava[] = {"llava"}, kLlavaClass[] = {"Llava"};
constexpr std::string_view kGemma3[] = {"gemma3"}, kGemma3Class[] = {"Gemma3"};
constexpr std::string_view kGemma4[] = {"gemma4"}, kGemma4Class[] = {"Gemma4"};
constexpr std::string_view kMistral3[] = {"mistral3"}, kMistral3Class[] = {"Mistral3"};
constexpr std::string_view kGit[] = {"git"}, kGitClass[] = {"Git"};
constexpr std::string_view kLlama4[] = {"llama4"}, kLlama4Class[] = {"Llama4"};
constexpr std::string_view kMllama[] = {"mllama"}, kMllamaClass[] = {"Mllama"};
constexpr std::string_view kGlm4v[] = {"glm4v"}, kGlm4vClass[] = {"Glm4v"};
constexpr std::string_view kGlm4vMoe[] = {"glm4v_moe"}, kGlm4vMoeClass[] = {"Glm4vMoe"};
constexpr std::string_view kQwen2Vl[] = {"qwen2_vl"}, kQwen2VlClass[] = {"Qwen2VL"};
constexpr std::string_view kQwen25Vl[] = {"qwen2_5_vl"}, kQwen25VlClass[] = {"Qwen2_5_VL"};
constexpr std::string_view kQwen3Vl[] = {"qwen3_vl"}, kQwen3VlClass[] = {"Qwen3VL"};
constexpr std::string_view kQwen3VlMoe[] = {"qwen3_vl_moe"}, kQwen3VlMoeClass[] = {"Qwen3VLMoe"};
constexpr std::string_view kQwen35[] = {"qwen3_5"}, kQwen35Class[] = {"Qwen3_5"};
constexpr std::string_view kQwen35Moe[] = {"qwen3_5_moe"}, kQwen35MoeClass[] = {"Qwen3_5Moe"};
constexpr std::string_view kKimiK25[] = {"kimi_k25"}, kKimiK25Class[] = {"KimiK25", "Kimi_K25"};
constexpr std::string_view kKimiK3[] = {"kimi_k3"}, kKimiK3Class[] = {"KimiK3"};
constexpr std::string_view kMiniCpm46[] = {"minicpmv4_6"}, kMiniCpm46Class[] = {"MiniCPMV4_6"};
constexpr std::string_view kMiniCpm[] = {"minicpmv"}, kMiniCpmClass[] = {"MiniCPMV"};
constexpr std::string_view kQwen2AudioType[] = {"qwen2_audio"}, kQwen2AudioClass[] = {"Qwen2Audio"};
constexpr std::string_view kVoxtral[] = {"voxtral"}, kVoxtralClass[] = {"Voxtral"};
constexpr std::string_view kFlamingo[] = {"audioflamingo3"}, kFlamingoClass[] = {"AudioFlamingo3"};
constexpr std::string_view kGlmAsr[] = {"glmasr"}, kGlmAsrClass[] = {"GlmAsr"};
constexpr std::string_view kParakeet[] = {"parakeet_ctc", "parakeet_rnnt", "parakeet_tdt"};
constexpr std::string_view kParakeetClass[] = {"Parakeet"};
constexpr std::string_view kLasr[] = {"lasr_ctc"}, kLasrClass[] = {"Lasr"};
constexpr std::string_view kCohereAsr[] = {"cohere_asr"}, kCohereAsrClass[] = {"CohereAsr"};
constexpr std::string_view kMusicgen[] = {"musicgen"}, kMusicgenClass[] = {"Musicgen"};
constexpr std::string_view kMelody[] = {"musicgen_melody"}, kMelodyClass[] = {"MusicgenMelody"};
constexpr std::string_view kBark[] = {"bark"}, kBarkClass[] = {"Bark"};
constexpr std::string_view kMoshi[] = {"moshi"}, kMoshiClass[] = {"Moshi"};
constexpr std::string_view kCsm[] = {"csm"}, kCsmClass[] = {"Csm"};
constexpr std::string_view kKyutai[] = {"kyutai_speech_to_text"}, kKyutaiClass[] = {"KyutaiSpeechToText"};
constexpr std::string_view kUnlimitedOcr[] = {"unlimited_ocr", "unlimited-ocr"};
constexpr std::string_view kUnlimitedOcrClass[] = {"UnlimitedOCR"};
constexpr std::string_view kUnlimitedOcrTop[] = {"sliding_window"};
constexpr std::string_view kVibeVoice[] = {"vibevoice"}, kVibeVoiceClass[] = {"VibeVoice"};

// clang-format off
constexpr Layout kLayouts[] = {
    {"llava", kLlava, kLlavaClass, {kText, "llama"}, kClipVision},
    {"gemma3", kGemma3, kGemma3Class, {kText, "gemma3_text", kFixed}, kSiglipVision, kImageSeesItself},
    {"gemma4", kGemma4, kGemma4Class, {kText, "gemma4_text", kFixed}, kGemma4Others},
    {"mistral3", kMistral3, kMistral3Class, {kText, "mistral"}, kPixtralVision},
    {"git", kGit, kGitClass, {{}, "git", kFixed}, kGitVision},
    {"llama4", kLlama4, kLlama4Class, {kText, "llama4_text", kFixed}, kLlama4Vision},
    {"mllama", kMllama, kMllamaClass, {kText, "mllama_text_model", kFixed}, kMllamaVision},
    {"glm4v", kGlm4v, kGlm4vClass, {kText, "glm4v_text", kFixed}, kGlm4vVision},
    {"glm4v_moe", kGlm4vMoe, kGlm4vMoeClass, {kText, "glm4v_moe_text", kFixed}, kGlm4vMoeVision},
    {"qwen2_vl", kQwen2Vl, kQwen2VlClass, {kText, "qwen2_vl_text", kFixed}, kQwen2VlVision},
    {"qwen2_5_vl", kQwen25Vl, kQwen25VlClass, {kText, "qwen2_5_vl_text", kFixed}, kQwen25VlVision},
    {"qwen3_vl", kQwen3Vl, kQwen3VlClass, {kText, "qwen3_vl_text", kFixed}, kQwen3VlVision},
    {"qwen3_vl_moe", kQwen3VlMoe, kQwen3VlMoeClass, {kText, "qwen3_vl_moe_text", kFixed}, kQwen3VlMoeVision},
    {"qwen3_5", kQwen35, kQwen35Class, {kText, "qwen3_5_text", kFixed}, kQwen35Vision},
    {"qwen3_5_moe", kQwen35Moe, kQwen35MoeClass, {kText, "qwen3_5_moe_text", kFixed}, kQwen35MoeVision},
    {"kimi_k25", kKimiK25, kKimiK25Class, {kText, "deepseek_v3"}, kKimiK25Vision},
    {"kimi_k3", kKimiK3, kKimiK3Class, {kText, "kimi_linear"}, kKimiK3Vision},
    {"minicpmv", kMiniCpm, kMiniCpmClass, {}, kMiniCpmVision},
    {"minicpmv4_6", kMiniCpm46, kMiniCpm46Class, {kText, "qwen3_5_text"}, kMiniCpm46Vision},
    {"qwen2_audio", kQwen2AudioType, kQwen2AudioClass, {kText, "qwen2"}, kQwen2Audio},
    {"voxtral", kVoxtral, kVoxtralClass, {kText, "llama"}, kVoxtralAudio},
    {"audioflamingo3", kFlamingo, kFlamingoClass, {kText, "qwen2"}, kFlamingoAudio},
    {"glmasr", kGlmAsr, kGlmAsrClass, {kText, "llama"}, kGlmAsrAudio},
    {"parakeet", kParakeet, kParakeetClass, {kEncoder, "parakeet_encoder"}, {}},
    {"lasr", kLasr, kLasrClass, {kEncoder, "lasr_encoder"}, {}},
    {"cohere_asr", kCohereAsr, kCohereAsrClass, {{}, "cohere_asr", kFixed}, kParakeetEncoder},
    {"musicgen", kMusicgen, kMusicgenClass, {kMusicDecoder, "musicgen_decoder", kFixed}, kPromptEncoder},
    {"musicgen_melody", kMelody, kMelodyClass, {kMusicDecoder, "musicgen_melody_decoder", kFixed}, kPromptEncoder},
    {"bark", kBark, kBarkClass, {kSemantic, "semantic", kFixed}, kBarkAcoustics},
    {"moshi", kMoshi, kMoshiClass, {{}, "moshi", kFixed}, kMoshiOthers},
    {"csm", kCsm, kCsmClass, {{}, "csm", kFixed}, kCsmOthers},
    {"kyutai_speech_to_text", kKyutai, kKyutaiClass, {{}, "kyutai_speech_to_text", kFixed}, kMimiCodec},
    {"unlimited_ocr", kUnlimitedOcr, kUnlimitedOcrClass, {kLanguage, "unlimited_ocr_text", kFixed, kUnlimitedOcrTop},
     kUnlimitedOcrVision},
    {"vibevoice", kVibeVoice, kVibeVoiceClass, {kDecoder, "qwen2"}, kVibeVoiceTokenizers},
};
// clang-format on

constexpr Layout kAnyLayout{{}, {}, {}, {kAnyText, {}}, kAnyOther};

}  // namespace

const Layout* find_layout(std::string_view model_type) noexcept {
  const auto row = std::ranges::find_if(kLayouts, [&](const Layout& layout) {
    return std::ranges::find(layout.model_types, model_type) != layout.model_types.end();
  });
  return row == std::ranges::end(kLayouts) ? nullptr : row;
}

const Layout* find_layout_of_class(std::string_view architecture) noexcept {
  const auto row =
      std::ranges::find_if(kLayouts, [&](const Layout& layout) { return is_class(layout.class_stems, architecture); });
  return row == std::ranges::end(kLayouts) ? nullptr : row;
}

const Layout& any_layout() noexcept { return kAnyLayout; }

std::span<const Layout> layouts() noexcept { return kLayouts; }

}  // namespace posenc::plan
