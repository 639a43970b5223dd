#include "plan/families/config_layouts.h"

#include <algorithm>

#include "plan/families/family.h"

// Facts: sub_configs and sub_configs_defaults of the transformers 5.23.0 class named by the stem; Kimi K3: its
// published files.
namespace posenc::plan {
namespace {

constexpr TypeRule kOwn = TypeRule::own;
constexpr TypeRule kFixed = TypeRule::fixed;

// ---- keys of objects ----
constexpr std::string_view kText[] = {"text_config"};
constexpr std::string_view kLanguage[] = {"language_config", "text_config"};
constexpr std::string_view kDecoder[] = {"decoder_config", "text_config"};
constexpr std::string_view kPlainDecoder[] = {"decoder"};
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
// The queries that look at the image stand between the towers; nothing here describes them.
constexpr OtherPlace kBlip2Others[] = {{"vision_config", "blip_2_vision_model", kFixed},
                                       {"qformer_config", "blip_2_qformer", kFixed}};
constexpr OtherPlace kInstructblipOthers[] = {{"vision_config", "instructblip_vision_model", kFixed},
                                              {"qformer_config", "instructblip_qformer", kFixed}};
constexpr OtherPlace kIdefics2Others[] = {{"vision_config", "idefics2_vision", kFixed},
                                          {"perceiver_config", "idefics2_perceiver", kFixed}};
constexpr OtherPlace kIdefics3Vision[] = {{"vision_config", "idefics3_vision", kFixed}};
constexpr OtherPlace kSmolvlmVision[] = {{"vision_config", "smolvlm_vision", kFixed}};
constexpr OtherPlace kInternvlVision[] = {{"vision_config", "internvl_vision"}};
constexpr OtherPlace kClipTower[] = {{"vision_config", "clip_vision_model", kFixed}};
constexpr OtherPlace kAltclipTower[] = {{"vision_config", "altclip_vision_model", kFixed}};
constexpr OtherPlace kChineseClipTower[] = {{"vision_config", "chinese_clip_vision_model", kFixed}};
constexpr OtherPlace kClipsegTower[] = {{"vision_config", "clipseg_vision_model", kFixed}};
constexpr OtherPlace kMetaclip2Tower[] = {{"vision_config", "metaclip_2_vision_model", kFixed}};
constexpr OtherPlace kOwlvitTower[] = {{"vision_config", "owlvit_vision_model", kFixed}};
constexpr OtherPlace kOwlv2Tower[] = {{"vision_config", "owlv2_vision_model", kFixed}};
constexpr OtherPlace kSiglipTower[] = {{"vision_config", "siglip_vision_model", kFixed}};
constexpr OtherPlace kSiglip2Tower[] = {{"vision_config", "siglip2_vision_model", kFixed}};
constexpr OtherPlace kAnyVision[] = {{"vision_config"}};
constexpr OtherPlace kGemma3nOthers[] = {{"vision_config", "gemma3n_vision", kFixed},
                                         {"audio_config", "gemma3n_audio", kFixed}};
constexpr OtherPlace kPhi4Others[] = {{"vision_config", "phi4_multimodal_vision", kFixed},
                                      {"audio_config", "phi4_multimodal_audio", kFixed}};
constexpr OtherPlace kPlainEncoder[] = {{"encoder"}};
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

constexpr ImageMask kImageSeesItself{.detail = "the tokens of one image see each other both ways, within the window"};

// Image and prompt come first and are one prefix.
constexpr ImageMask kImageAndPromptFirst{.kind = MaskKind::prefix,
                                         .detail = "image and prompt see each other both ways, what follows is causal"};

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

constexpr std::string_view kBlip2[] = {"blip-2"}, kBlip2Class[] = {"Blip2"};
constexpr std::string_view kInstructblip[] = {"instructblip"}, kInstructblipClass[] = {"InstructBlip"};
constexpr std::string_view kInstructblipVideo[] = {"instructblipvideo"},
                           kInstructblipVideoClass[] = {"InstructBlipVideo"};
constexpr std::string_view kLlavaNext[] = {"llava_next"}, kLlavaNextClass[] = {"LlavaNext"};
constexpr std::string_view kLlavaNextVideo[] = {"llava_next_video"}, kLlavaNextVideoClass[] = {"LlavaNextVideo"};
constexpr std::string_view kLlavaOnevision[] = {"llava_onevision"}, kLlavaOnevisionClass[] = {"LlavaOnevision"};
constexpr std::string_view kVipllava[] = {"vipllava"}, kVipllavaClass[] = {"VipLlava"};
constexpr std::string_view kVideoLlava[] = {"video_llava"}, kVideoLlavaClass[] = {"VideoLlava"};
constexpr std::string_view kPaligemma[] = {"paligemma"}, kPaligemmaClass[] = {"PaliGemma"};
constexpr std::string_view kIdefics2[] = {"idefics2"}, kIdefics2Class[] = {"Idefics2"};
constexpr std::string_view kIdefics3[] = {"idefics3"}, kIdefics3Class[] = {"Idefics3"};
constexpr std::string_view kSmolvlm[] = {"smolvlm"}, kSmolvlmClass[] = {"SmolVLM"};
constexpr std::string_view kInternvl[] = {"internvl"}, kInternvlClass[] = {"InternVL"};
constexpr std::string_view kCohere2Vision[] = {"cohere2_vision"}, kCohere2VisionClass[] = {"Cohere2Vision"};
constexpr std::string_view kAyaVision[] = {"aya_vision"}, kAyaVisionClass[] = {"AyaVision"};
constexpr std::string_view kShieldgemma2[] = {"shieldgemma2"}, kShieldgemma2Class[] = {"ShieldGemma2"};
constexpr std::string_view kLightonOcr[] = {"lighton_ocr"}, kLightonOcrClass[] = {"LightOnOcr"};
constexpr std::string_view kGemma3n[] = {"gemma3n"}, kGemma3nClass[] = {"Gemma3n"};
constexpr std::string_view kPhi4[] = {"phi4_multimodal"}, kPhi4Class[] = {"Phi4Multimodal"};
constexpr std::string_view kClip[] = {"clip"}, kClipClass[] = {"CLIP"};
constexpr std::string_view kAltclip[] = {"altclip"}, kAltclipClass[] = {"AltCLIP"};
constexpr std::string_view kChineseClip[] = {"chinese_clip"}, kChineseClipClass[] = {"ChineseCLIP"};
constexpr std::string_view kClipseg[] = {"clipseg"}, kClipsegClass[] = {"CLIPSeg"};
constexpr std::string_view kMetaclip2[] = {"metaclip_2"}, kMetaclip2Class[] = {"MetaClip2"};
constexpr std::string_view kOwlvit[] = {"owlvit"}, kOwlvitClass[] = {"OwlViT"};
constexpr std::string_view kOwlv2[] = {"owlv2"}, kOwlv2Class[] = {"Owlv2"};
constexpr std::string_view kSiglip[] = {"siglip"}, kSiglipClass[] = {"Siglip"};
constexpr std::string_view kSiglip2[] = {"siglip2"}, kSiglip2Class[] = {"Siglip2"};
constexpr std::string_view kVisionPair[] = {"vision-text-dual-encoder"}, kVisionPairClass[] = {"VisionTextDualEncoder"};
constexpr std::string_view kVisionDecoder[] = {"vision-encoder-decoder"},
                           kVisionDecoderClass[] = {"VisionEncoderDecoder"};

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
    {"musicgen", kMusicgen, kMusicgenClass, {kPlainDecoder, "musicgen_decoder", kFixed}, kPromptEncoder},
    {"musicgen_melody", kMelody, kMelodyClass, {kPlainDecoder, "musicgen_melody_decoder", kFixed}, kPromptEncoder},
    {"bark", kBark, kBarkClass, {kSemantic, "semantic", kFixed}, kBarkAcoustics},
    {"moshi", kMoshi, kMoshiClass, {{}, "moshi", kFixed}, kMoshiOthers},
    {"csm", kCsm, kCsmClass, {{}, "csm", kFixed}, kCsmOthers},
    {"kyutai_speech_to_text", kKyutai, kKyutaiClass, {{}, "kyutai_speech_to_text", kFixed}, kMimiCodec},
    {"unlimited_ocr", kUnlimitedOcr, kUnlimitedOcrClass, {kLanguage, "unlimited_ocr_text", kFixed, kUnlimitedOcrTop},
     kUnlimitedOcrVision},
    {"blip-2", kBlip2, kBlip2Class, {kText, "opt"}, kBlip2Others},
    {"instructblip", kInstructblip, kInstructblipClass, {kText, "opt"}, kInstructblipOthers},
    {"instructblipvideo", kInstructblipVideo, kInstructblipVideoClass, {kText, "opt"}, kInstructblipOthers},
    {"llava_next", kLlavaNext, kLlavaNextClass, {kText, "llama"}, kClipVision},
    {"llava_next_video", kLlavaNextVideo, kLlavaNextVideoClass, {kText, "llama"}, kClipVision},
    {"llava_onevision", kLlavaOnevision, kLlavaOnevisionClass, {kText, "qwen2"}, kSiglipVision},
    {"vipllava", kVipllava, kVipllavaClass, {kText, "llama"}, kClipVision},
    {"video_llava", kVideoLlava, kVideoLlavaClass, {kText, "llama"}, kClipVision},
    {"paligemma", kPaligemma, kPaligemmaClass, {kText, "gemma"}, kSiglipVision, kImageAndPromptFirst},
    {"idefics2", kIdefics2, kIdefics2Class, {kText, "mistral"}, kIdefics2Others},
    {"idefics3", kIdefics3, kIdefics3Class, {kText, "llama"}, kIdefics3Vision},
    {"smolvlm", kSmolvlm, kSmolvlmClass, {kText, "llama"}, kSmolvlmVision},
    {"internvl", kInternvl, kInternvlClass, {kText, "qwen2"}, kInternvlVision},
    {"cohere2_vision", kCohere2Vision, kCohere2VisionClass, {kText, "cohere2"}, kSiglipVision},
    {"aya_vision", kAyaVision, kAyaVisionClass, {kText, "cohere2"}, kSiglipVision},
    {"shieldgemma2", kShieldgemma2, kShieldgemma2Class, {kText, "gemma3_text"}, kSiglipVision, kImageSeesItself},
    {"lighton_ocr", kLightonOcr, kLightonOcrClass, {kText, "qwen3"}, kPixtralVision},
    {"gemma3n", kGemma3n, kGemma3nClass, {kText, "gemma3n_text", kFixed}, kGemma3nOthers},
    {"phi4_multimodal", kPhi4, kPhi4Class, {{}, "phi4_multimodal", kFixed}, kPhi4Others},
    {"clip", kClip, kClipClass, {kText, "clip_text_model", kFixed}, kClipTower},
    {"altclip", kAltclip, kAltclipClass, {kText, "altclip_text_model", kFixed}, kAltclipTower},
    {"chinese_clip", kChineseClip, kChineseClipClass, {kText, "chinese_clip_text_model", kFixed}, kChineseClipTower},
    {"clipseg", kClipseg, kClipsegClass, {kText, "clipseg_text_model", kFixed}, kClipsegTower},
    {"metaclip_2", kMetaclip2, kMetaclip2Class, {kText, "metaclip_2_text_model", kFixed}, kMetaclip2Tower},
    {"owlvit", kOwlvit, kOwlvitClass, {kText, "owlvit_text_model", kFixed}, kOwlvitTower},
    {"owlv2", kOwlv2, kOwlv2Class, {kText, "owlv2_text_model", kFixed}, kOwlv2Tower},
    {"siglip", kSiglip, kSiglipClass, {kText, "siglip_text_model", kFixed}, kSiglipTower},
    {"siglip2", kSiglip2, kSiglip2Class, {kText, "siglip2_text_model", kFixed}, kSiglip2Tower},
    {"vision-text-dual-encoder", kVisionPair, kVisionPairClass, {kText, {}}, kAnyVision},
    {"vision-encoder-decoder", kVisionDecoder, kVisionDecoderClass, {kPlainDecoder, {}}, kPlainEncoder},
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
