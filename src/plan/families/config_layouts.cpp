// Which objects of a composite config hold its text, vision and audio stacks, and whose rules each follows.
#include "plan/families/config_layouts.h"

#include <algorithm>

#include "plan/families/family.h"

// Facts: sub_configs and sub_configs_defaults of the transformers 5.23.0 class named by the stem; Kimi K3: its
// published files.
namespace posenc::plan {
namespace {

constexpr TypeRule kOwn = TypeRule::own;
constexpr TypeRule kFixed = TypeRule::fixed;

constexpr Few<OtherPlace, kMostOthers> kInstructblipOthers{{"vision_config", "instructblip_vision_model", kFixed},
                                                           {"qformer_config", "instructblip_qformer", kFixed}};

// LLaVA's first files name their tower, and say nothing of it.
constexpr OtherPlace kNamedTower{.object = "mm_vision_tower", .type = "vision", .is_sign = true, .is_name = true};

constexpr ImageMask kImageSeesItself{.detail = "the tokens of one image see each other both ways, within the window"};

// Image and prompt come first and are one prefix.
constexpr ImageMask kImageAndPromptFirst{.kind = MaskKind::prefix,
                                         .detail = "image and prompt see each other both ways, what follows is causal"};

// clang-format off
constexpr Layout kLayouts[] = {
    {"llava", "llava", "Llava", {"text_config", "llama"},
     {{"vision_config", "clip_vision_model"}, kNamedTower}},
    {"gemma3", "gemma3", "Gemma3", {"text_config", "gemma3_text", kFixed}, {{"vision_config", "siglip_vision_model"}},
     kImageSeesItself},
    {"gemma4", "gemma4", "Gemma4", {"text_config", "gemma4_text", kFixed},
     {{"vision_config", "gemma4_vision"}, {"audio_config", "gemma4_audio"}}},
    {"mistral3", "mistral3", "Mistral3", {"text_config", "mistral"}, {{"vision_config", "pixtral"}}},
    {"git", "git", "Git", {{}, "git", kFixed}, {{"vision_config", "git_vision_model", kFixed}}},
    {"llama4", "llama4", "Llama4", {"text_config", "llama4_text", kFixed},
     {{"vision_config", "llama4_vision_model", kFixed}}},
    {"mllama", "mllama", "Mllama", {"text_config", "mllama_text_model", kFixed},
     {{"vision_config", "mllama_vision_model", kFixed}}},
    {"glm4v", "glm4v", "Glm4v", {"text_config", "glm4v_text", kFixed}, {{"vision_config", "glm4v_vision", kFixed}}},
    {"glm4v_moe", "glm4v_moe", "Glm4vMoe", {"text_config", "glm4v_moe_text", kFixed},
     {{"vision_config", "glm4v_moe_vision", kFixed}}},
    {"qwen2_vl", "qwen2_vl", "Qwen2VL", {"text_config", "qwen2_vl_text", kFixed},
     {{"vision_config", "qwen2_vl_vision", kFixed}}},
    {"qwen2_5_vl", "qwen2_5_vl", "Qwen2_5_VL", {"text_config", "qwen2_5_vl_text", kFixed},
     {{"vision_config", "qwen2_5_vl_vision", kFixed}}},
    {"qwen3_vl", "qwen3_vl", "Qwen3VL", {"text_config", "qwen3_vl_text", kFixed},
     {{"vision_config", "qwen3_vl_vision", kFixed}}},
    {"qwen3_vl_moe", "qwen3_vl_moe", "Qwen3VLMoe", {"text_config", "qwen3_vl_moe_text", kFixed},
     {{"vision_config", "qwen3_vl_moe_vision", kFixed}}},
    {"qwen3_5", "qwen3_5", "Qwen3_5", {"text_config", "qwen3_5_text", kFixed},
     {{"vision_config", "qwen3_5_vision", kFixed}}},
    {"qwen3_5_moe", "qwen3_5_moe", "Qwen3_5Moe", {"text_config", "qwen3_5_moe_text", kFixed},
     {{"vision_config", "qwen3_5_moe_vision", kFixed}}},
    {"kimi_k25", "kimi_k25", "KimiK25 Kimi_K25", {"text_config", "deepseek_v3"},
     {{"vision_config", "kimi_k25_vision", kFixed}}},
    {"kimi_k3", "kimi_k3", "KimiK3", {"text_config", "kimi_linear"}, {{"vision_config", "kimi_k3_vision", kFixed}}},
    {"minicpmv", "minicpmv", "MiniCPMV", {},
     {{"vision_config", "siglip_vision_model"}, {"query_num", "resampler", kFixed, true}}},
    {"minicpmv4_6", "minicpmv4_6", "MiniCPMV4_6", {"text_config", "qwen3_5_text"},
     {{"vision_config", "minicpmv4_6_vision", kFixed}}},
    {"qwen2_audio", "qwen2_audio", "Qwen2Audio", {"text_config", "qwen2"}, {{"audio_config", "qwen2_audio_encoder"}}},
    {"voxtral", "voxtral", "Voxtral", {"text_config", "llama"}, {{"audio_config", "voxtral_encoder"}}},
    {"audioflamingo3", "audioflamingo3", "AudioFlamingo3", {"text_config", "qwen2"},
     {{"audio_config", "audioflamingo3_encoder"}}},
    {"glmasr", "glmasr", "GlmAsr", {"text_config", "llama"},
     {{"audio_config", "glmasr_encoder", kOwn, false, "audio"}}},
    {"parakeet", "parakeet_ctc parakeet_rnnt parakeet_tdt", "Parakeet", {"encoder_config", "parakeet_encoder"}, {}},
    {"lasr", "lasr_ctc", "Lasr", {"encoder_config", "lasr_encoder"}, {}},
    {"cohere_asr", "cohere_asr", "CohereAsr", {{}, "cohere_asr", kFixed},
     {{"encoder_config", "parakeet_encoder", kOwn, false, "encoder"}}},
    {"canary", "canary", "Canary", {"decoder_config", "canary_decoder", kFixed},
     {{"encoder_config", "parakeet_encoder", kOwn, false, "encoder"}}},
    {"clap", "clap", "Clap", {"text_config", "clap_text_model", kFixed},
     {{"audio_config", "clap_audio_model", kFixed, false, "audio"}}},
    {"clvp", "clvp", "Clvp", {"decoder_config", "clvp_decoder", kFixed},
     {{"text_config", "clvp_encoder", kFixed, false, "text"}, {"speech_config", "clvp_encoder", kFixed, false, "speech"}}},
    {"dia", "dia", "Dia", {"decoder_config", "dia_decoder", kFixed},
     {{"encoder_config", "dia_encoder", kFixed, false, "encoder"}}},
    {"fastspeech2_conformer_with_hifigan", "fastspeech2_conformer_with_hifigan", "FastSpeech2ConformerWithHifiGan",
     {"model_config", "fastspeech2_conformer", kFixed}, {}},
    {"fun_asr_nano", "fun_asr_nano", "FunAsrNano", {"text_config", "qwen3"},
     {{"audio_config", "fun_asr_nano_encoder", kOwn, false, "audio"},
      {"adaptor_config", "fun_asr_nano_adaptor", kFixed, false, "audio_adapter"}}},
    {"granite_speech", "granite_speech granite_speech_plus", "GraniteSpeech GraniteSpeechPlus",
     {"text_config", "granite"},
     {{"encoder_config", "granite_speech_encoder", kOwn, false, "audio"}, {"projector_config", "blip_2_qformer", kOwn, false, "qformer"}}},
    {"granite_speech5", "granite_speech5_ctc", "GraniteSpeech5", {"encoder_config", "granite_speech5_encoder"}, {}},
    {"moonshine_streaming", "moonshine_streaming", "MoonshineStreaming", {{}, "moonshine_streaming", kFixed},
     {{"encoder_config", "moonshine_streaming_encoder", kFixed, false, "encoder"}}},
    {"evolla", "evolla EvollaModel", "Evolla", {{}, "evolla", kFixed},
     {{"protein_encoder_config", "esm", kFixed, false, "protein"}}},
    {"moss_transcribe_diarize", "moss_transcribe_diarize", "MossTranscribeDiarize", {"text_config", "qwen3"},
     {{"audio_config", "moss_transcribe_diarize_audio", kFixed}}},
    {"nemotron_asr_streaming", "nemotron_asr_streaming nemotron3_5_asr", "NemotronAsrStreaming Nemotron3_5Asr",
     {"encoder_config", "nemotron_asr_streaming_encoder"}, {}},
    {"nemotron3_5_transcribe_audio", "nemotron3_5_transcribe_audio", "Nemotron3_5TranscribeAudio",
     {"asr_config", "nemotron3_5_transcribe_asr_audio", kFixed},
     {{"diarization_config/audio_config", "nemotron3_diarization_audio", kFixed, false, "audio_diarization"}}},
    {"nemo_speechlm", "nemo_speechlm", "Nemotron3_5Transcribe", {"text_config", "nemotron_h"},
     {{"audio_config/asr_config", "nemotron3_5_transcribe_asr_audio", kFixed, false, "audio"},
      {"audio_config/diarization_config/audio_config", "nemotron3_diarization_audio", kFixed, false,
       "audio_diarization"},
      {"word_timestamp_config", "nemotron3_5_transcribe_word_timestamp", kFixed, false, "audio_words"}}},
    {"nemotron_h_omni", "nemotron_h_omni NemotronH_Nano_Omni_Reasoning_V3", "NemotronH_Omni",
     {"text_config llm_config", "nemotron_h"},
     {{"vision_config", "radio"}, {"audio_config", "parakeet_encoder", kOwn, false, "audio"},
      {"sound_config", "parakeet_encoder", kFixed, false, "audio"}}},
    {"pe_audio_encoder", "pe_audio_encoder", "PeAudioEncoder", {{}, "pe_audio_encoder", kFixed}, {}},
    {"qwen2_5_omni", "qwen2_5_omni", "Qwen2_5Omni", {"thinker_config/text_config", "qwen2_5_omni_text", kFixed},
     {{"thinker_config/vision_config", "qwen2_5_omni_vision_encoder", kFixed},
      {"thinker_config/audio_config", "qwen2_5_omni_audio_encoder", kFixed, false, "audio"},
      {"talker_config", "qwen2_5_omni_talker", kFixed, false, "talker"},
      {"token2wav_config/dit_config", "qwen2_5_omni_dit", kFixed, false, "sound"}}},
    {"qwen2_5_omni_token2wav", "qwen2_5_omni_token2wav", "Qwen2_5OmniToken2Wav",
     {"dit_config", "qwen2_5_omni_dit", kFixed}, {}},
    {"qwen3_omni_moe", "qwen3_omni_moe", "Qwen3OmniMoe", {"thinker_config/text_config", "qwen3_omni_moe_text", kFixed},
     {{"thinker_config/vision_config", "qwen3_omni_moe_vision_encoder", kFixed},
      {"thinker_config/audio_config", "qwen3_omni_moe_audio_encoder", kFixed, false, "audio"},
      {"talker_config/text_config", "qwen3_omni_moe_talker_text", kFixed, false, "talker"},
      {"talker_config/code_predictor_config", "qwen3_omni_moe_talker_code_predictor", kFixed, false, "codes"},
      {"code2wav_config", "qwen3_omni_moe_code2wav", kFixed, false, "sound"}}},
    {"pe_audio", "pe_audio", "PeAudio", {"text_config", "modernbert"},
     {{"audio_config", "pe_audio_encoder", kFixed, false, "audio"}}},
    {"qwen2_5_omni_thinker", "qwen2_5_omni_thinker", "Qwen2_5OmniThinker", {"text_config", "qwen2_5_omni_text", kFixed},
     {{"vision_config", "qwen2_5_omni_vision_encoder", kFixed},
      {"audio_config", "qwen2_5_omni_audio_encoder", kFixed, false, "audio"}}},
    {"qwen3_omni_moe_thinker", "qwen3_omni_moe_thinker", "Qwen3OmniMoeThinker",
     {"text_config", "qwen3_omni_moe_text", kFixed},
     {{"vision_config", "qwen3_omni_moe_vision_encoder", kFixed},
      {"audio_config", "qwen3_omni_moe_audio_encoder", kFixed, false, "audio"}}},
    {"qwen3_asr", "qwen3_asr", "Qwen3ASR", {"text_config", "qwen3"},
     {{"audio_config", "qwen3_asr_encoder", kFixed, false, "audio"}}},
    {"vibevoice_asr", "vibevoice_asr", "VibeVoiceAsr", {"text_config", "qwen2"},
     {{"acoustic_tokenizer_encoder_config", "vibevoice_acoustic_tokenizer_encoder", kFixed},
      {"semantic_tokenizer_encoder_config", "vibevoice_semantic_tokenizer_encoder", kFixed}}},
    {"voxtral_realtime", "voxtral_realtime", "VoxtralRealtime", {"text_config", "voxtral_realtime_text", kFixed},
     {{"audio_config", "voxtral_realtime_encoder", kFixed, false, "audio"}}},
    // Their acoustic parts are convolutions.
    {"xcodec", "xcodec", "Xcodec", {"semantic_model_config", "hubert"}, {}},
    {"xcodec2", "xcodec2 neucodec", "Xcodec2 NeuCodec", {{}, "xcodec2", kFixed},
     {{"semantic_model_config", "wav2vec2-bert", kOwn, false, "semantic"}}},
    // The codec that is not named, EnCodec, has convolutions and an LSTM: no position is told.
    {"musicgen", "musicgen", "Musicgen", {"decoder", "musicgen_decoder", kFixed},
     {{"text_encoder", "t5", kOwn, false, "text_encoder", true}}},
    {"musicgen_melody", "musicgen_melody", "MusicgenMelody", {"decoder", "musicgen_melody_decoder", kFixed},
     {{"text_encoder", "t5", kOwn, false, "text_encoder", true}}},
    {"bark", "bark", "Bark", {"semantic_config", "semantic", kFixed},
     {{"coarse_acoustics_config", "coarse_acoustics", kFixed, false, "coarse_acoustics"},
      {"fine_acoustics_config", "fine_acoustics", kFixed, false, "fine_acoustics"}}},
    {"moshi", "moshi", "Moshi", {{}, "moshi", kFixed},
     {{"depth_decoder_config", "moshi_depth", kFixed, false, "depth_decoder"},
      {"audio_encoder_config", "mimi", kOwn, false, "codec"}}},
    {"csm", "csm", "Csm", {{}, "csm", kFixed},
     {{"depth_decoder_config", "csm_depth_decoder_model", kFixed, false, "depth_decoder"},
      {"codec_config", "mimi", kOwn, false, "codec"}}},
    {"kyutai_speech_to_text", "kyutai_speech_to_text", "KyutaiSpeechToText", {{}, "kyutai_speech_to_text", kFixed},
     {{"codec_config", "mimi", kOwn, false, "codec"}}},
    {"unlimited_ocr", "unlimited_ocr unlimited-ocr", "UnlimitedOCR",
     {"language_config text_config", "unlimited_ocr_text", kFixed, "sliding_window"},
     {{"vision_config/width/sam_vit_b", "unlimited_ocr_sam_vision_model", kFixed},
      {"vision_config/sam_config", "unlimited_ocr_sam_vision_model", kFixed},
      {"vision_config/width/clip-l-14-224", "unlimited_ocr_vision_encoder", kFixed},
      {"vision_config/encoder_config", "unlimited_ocr_vision_encoder", kFixed}}},
    // The queries that look at the image stand between the towers; nothing here describes them.
    {"blip-2", "blip-2", "Blip2", {"text_config", "opt"},
     {{"vision_config", "blip_2_vision_model", kFixed}, {"qformer_config", "blip_2_qformer", kFixed}}},
    {"instructblip", "instructblip", "InstructBlip", {"text_config", "opt"}, kInstructblipOthers},
    {"instructblipvideo", "instructblipvideo", "InstructBlipVideo", {"text_config", "opt"}, kInstructblipOthers},
    {"llava_next", "llava_next", "LlavaNext", {"text_config", "llama"}, {{"vision_config", "clip_vision_model"}}},
    {"llava_next_video", "llava_next_video", "LlavaNextVideo", {"text_config", "llama"},
     {{"vision_config", "clip_vision_model"}}},
    {"llava_onevision", "llava_onevision", "LlavaOnevision", {"text_config", "qwen2"},
     {{"vision_config", "siglip_vision_model"}}},
    {"vipllava", "vipllava", "VipLlava", {"text_config", "llama"}, {{"vision_config", "clip_vision_model"}}},
    {"video_llava", "video_llava", "VideoLlava", {"text_config", "llama"}, {{"vision_config", "clip_vision_model"}}},
    {"paligemma", "paligemma", "PaliGemma", {"text_config", "gemma"}, {{"vision_config", "siglip_vision_model"}},
     kImageAndPromptFirst},
    {"idefics2", "idefics2", "Idefics2", {"text_config", "mistral"},
     {{"vision_config", "idefics2_vision", kFixed}, {"perceiver_config", "idefics2_perceiver", kFixed}}},
    {"idefics3", "idefics3", "Idefics3", {"text_config", "llama"}, {{"vision_config", "idefics3_vision", kFixed}}},
    {"smolvlm", "smolvlm", "SmolVLM", {"text_config", "llama"}, {{"vision_config", "smolvlm_vision", kFixed}}},
    {"internvl", "internvl", "InternVL", {"text_config", "qwen2"}, {{"vision_config", "internvl_vision"}}},
    {"cohere2_vision", "cohere2_vision", "Cohere2Vision", {"text_config", "cohere2"},
     {{"vision_config", "siglip_vision_model"}}},
    {"aya_vision", "aya_vision", "AyaVision", {"text_config", "cohere2"}, {{"vision_config", "siglip_vision_model"}}},
    {"shieldgemma2", "shieldgemma2", "ShieldGemma2", {"text_config", "gemma3_text"},
     {{"vision_config", "siglip_vision_model"}}, kImageSeesItself},
    {"lighton_ocr", "lighton_ocr", "LightOnOcr", {"text_config", "qwen3"}, {{"vision_config", "pixtral"}}},
    {"gemma3n", "gemma3n", "Gemma3n", {"text_config", "gemma3n_text", kFixed},
     {{"vision_config", "gemma3n_vision", kFixed}, {"audio_config", "gemma3n_audio", kFixed}}},
    {"phi4_multimodal", "phi4_multimodal", "Phi4Multimodal", {{}, "phi4_multimodal", kFixed},
     {{"vision_config", "phi4_multimodal_vision", kFixed}, {"audio_config", "phi4_multimodal_audio", kFixed, false, "audio"}}},
    {"clip", "clip", "CLIP", {"text_config", "clip_text_model", kFixed},
     {{"vision_config", "clip_vision_model", kFixed}}},
    {"altclip", "altclip", "AltCLIP", {"text_config", "altclip_text_model", kFixed},
     {{"vision_config", "altclip_vision_model", kFixed}}},
    {"chinese_clip", "chinese_clip", "ChineseCLIP", {"text_config", "chinese_clip_text_model", kFixed},
     {{"vision_config", "chinese_clip_vision_model", kFixed}}},
    {"clipseg", "clipseg", "CLIPSeg", {"text_config", "clipseg_text_model", kFixed},
     {{"vision_config", "clipseg_vision_model", kFixed}}},
    {"metaclip_2", "metaclip_2", "MetaClip2", {"text_config", "metaclip_2_text_model", kFixed},
     {{"vision_config", "metaclip_2_vision_model", kFixed}}},
    {"owlvit", "owlvit", "OwlViT", {"text_config", "owlvit_text_model", kFixed},
     {{"vision_config", "owlvit_vision_model", kFixed}}},
    {"owlv2", "owlv2", "Owlv2", {"text_config", "owlv2_text_model", kFixed},
     {{"vision_config", "owlv2_vision_model", kFixed}}},
    {"siglip", "siglip", "Siglip", {"text_config", "siglip_text_model", kFixed},
     {{"vision_config", "siglip_vision_model", kFixed}}},
    {"siglip2", "siglip2", "Siglip2", {"text_config", "siglip2_text_model", kFixed},
     {{"vision_config", "siglip2_vision_model", kFixed}}},
    {"vision-text-dual-encoder", "vision-text-dual-encoder", "VisionTextDualEncoder", {"text_config", {}},
     {{"vision_config"}}},
    {"encoder-decoder", "encoder-decoder speech-encoder-decoder", "EncoderDecoder SpeechEncoderDecoder",
     {"decoder", {}, kOwn, {}, "decoder"}, {{"encoder", {}, kOwn, false, "encoder", true}}},
    {"rag", "rag", "Rag RagToken RagSequence", {"generator", {}},
     {{"question_encoder", {}, kOwn, false, "question_encoder", true}}},
    {"vision-encoder-decoder", "vision-encoder-decoder", "VisionEncoderDecoder", {"decoder", {}}, {{"encoder"}}},
    {"vibevoice", "vibevoice", "VibeVoice", {"decoder_config text_config", "qwen2"},
     {{"acoustic_tokenizer_config", "vibevoice_acoustic_tokenizer", kFixed},
      {"semantic_tokenizer_config", "vibevoice_semantic_tokenizer", kFixed}}},
};
// clang-format on

constexpr Layout kAnyLayout{{},
                            {},
                            {},
                            {"text_config llm_config language_config decoder_config", {}},
                            {{.object = "vision_config"},
                             {.object = "audio_config"},
                             {.object = "siglip_config"},
                             {.object = "acoustic_tokenizer_config"},
                             {.object = "semantic_tokenizer_config"},
                             kNamedTower}};

}  // namespace

const Layout* find_layout(std::string_view model_type) noexcept {
  const auto row =
      std::ranges::find_if(kLayouts, [&](const Layout& layout) { return layout.model_types.contains(model_type); });
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
