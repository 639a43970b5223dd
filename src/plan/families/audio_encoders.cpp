// Encoders of sound without a decoder of their own: conformers with rotations or in blocks, Whisper's without a
// decoder. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include <algorithm>

#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kGraniteKeys[] = {{&keys::kLayers, "num_layers"}, {&keys::kHeads, "num_heads"},  {&keys::kKvHeads},
                                   {&keys::kHidden, "hidden_dim"}, {&keys::kHeadDim, "dim_head"}, {&keys::kLength}};
constexpr OwnKey kGranite5Keys[] = {{&keys::kKvHeads}, {&keys::kLength}, {&keys::kReach, "max_position_embeddings"}};
constexpr OwnKey kOmniKeys[] = {{&keys::kLayers, "encoder_layers"},
                                {&keys::kHeads, "encoder_attention_heads"},
                                {&keys::kHidden, "d_model"},
                                {&keys::kKvHeads},
                                {&keys::kHeadDim},
                                {&keys::kLength, "max_source_positions", "max_position_embeddings"}};
constexpr OwnKey kStreamingKeys[] = {{&keys::kKvHeads}};
constexpr OwnKey kPhiKeys[] = {{&keys::kLayers, "num_blocks"}, {&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}};

constexpr Bounds kFrames{1, kMaxPosition >> 2};

Sourced<std::int64_t> context_block(ConfigScope& scope) { return scope.required_integer(keys::kContextSize, kFrames); }

// A convolution halves the 2 * n_window frames that are numbered together.
Sourced<std::int64_t> halved_block(ConfigScope& scope) { return scope.required_integer(keys::kHalfBlock, kFrames); }

// Three convolutions halve them, rounding up; as many of these as n_window_infer frames hold see one another.
Sourced<std::int64_t> eighths_block(ConfigScope& scope) {
  const Sourced<std::int64_t> half = scope.required_integer(keys::kHalfBlock, kFrames);
  const Sourced<std::int64_t> seen = scope.required_integer(keys::kSeenFrames, kFrames);
  if (scope.reader().failed()) return {};
  if (seen.value < 2 * half.value) {
    scope.fail(keys::kSeenFrames, ErrorKind::out_of_range, "at least twice n_window");
    return {};
  }
  return {(2 * half.value + 7) / 8 * (seen.value / (2 * half.value)), seen.from};
}

// A spectrogram of max_length frames and num_mel_bins bands is cut into patches, those of one time after one another;
// a class token and a second one stand before them.
SchemeChoice spectrogram_table(ConfigScope& scope, const SchemeFacts&) {
  constexpr Bounds kSides{1, std::int64_t{1} << 20};
  const Sourced<std::int64_t> frames = scope.required_integer(keys::kSpectrogramFrames, kSides);
  const Sourced<std::int64_t> bands = scope.required_integer(keys::kBands, kSides);
  const Sourced<std::int64_t> patch = scope.required_integer(keys::kPatchSize, kSides);
  const Sourced<std::int64_t> across = scope.required_integer(keys::kTimeStride, kSides);
  const Sourced<std::int64_t> down = scope.required_integer(keys::kBandStride, kSides);
  if (scope.reader().failed()) return {};
  if (patch.value > std::min(frames.value, bands.value)) {
    scope.fail(keys::kPatchSize, ErrorKind::out_of_range, "at most the frames and the bands");
    return {};
  }
  const std::int64_t rows = (frames.value - patch.value) / across.value + 1;
  return choose_table(rows * ((bands.value - patch.value) / down.value + 1) + 2, frames.from);
}

// More frames are cut into pieces of so many, each by itself.
Sourced<std::int64_t> phi_block(ConfigScope& scope) { return {500, family_default(scope.family())}; }

constexpr std::string_view kFrameOfBlock = "frame of its block";
constexpr InputRule kRestartedSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::whisper, .axis = kFrameOfBlock};
constexpr InputRule kScaledSinesFrom1{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::whisper, .offset = 1, .always_scaled = true};
constexpr StackRule kSound{.name = "audio", .mask = kBothWays};
constexpr StackRule kSeveralWindows{.name = "encoder", .mask = kBothWays};
constexpr StackRule kPatchedSound{.name = "audio", .mask = kBothWays, .own_keys = kNoLengthKeys};
constexpr StackRule kStreamedSound{.name = "audio", .own_keys = kStreamingKeys};
constexpr StackRule kGraniteStack{.name = "audio",
                                  .mask = {.kind = MaskKind::bidirectional, .block = context_block},
                                  .score = {.kind = ScoreKind::shaw_blocks},
                                  .own_keys = kGraniteKeys};
constexpr StackRule kGranite5Stack{.name = "audio",
                                   .mask = {.kind = MaskKind::bidirectional, .block = context_block},
                                   .score = {.kind = ScoreKind::shaw_blocks},
                                   .own_keys = kGranite5Keys};
constexpr StackRule kStreamingStack{.name = "encoder",
                                    .mask = {.kind = MaskKind::bidirectional, .lookahead = &keys::kLookahead},
                                    .score = kSinesOfDistances,
                                    .own_keys = kNoLengthKeys};
constexpr StackRule kOmniStack{.name = "audio",
                               .mask = {.kind = MaskKind::bidirectional, .block = halved_block},
                               .input = kRestartedSines,
                               .own_keys = kOmniKeys};
constexpr StackRule kOmni3Stack{.name = "audio",
                                .mask = {.kind = MaskKind::bidirectional, .block = eighths_block},
                                .input = kRestartedSines,
                                .own_keys = kOmniKeys};
constexpr StackRule kSanmStack{.name = "audio", .mask = kBothWays, .input = kScaledSinesFrom1, .own_keys = kPlainHeads};
constexpr StackRule kAdaptorStack{.name = "audio_adapter", .mask = kBothWays, .own_keys = kNoLengthKeys};
constexpr StackRule kPhiStack{.name = "audio",
                              .mask = {.kind = MaskKind::bidirectional, .block = phi_block},
                              .score = {.kind = ScoreKind::clipped},
                              .own_keys = kPhiKeys};

}  // namespace

std::span<const Family> audio_encoders_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "audio-spectrogram-transformer", .class_stems = "AST", .main = kPatchedSound, .scales = false,
     .rotary_layers = kNoRotaryLayer, .scheme = spectrogram_table, .needs_length = false},
    {.name = "dots3_note_audio_encoder", .class_stems = "Dots3NoteAudio", .pairing = kHalf, .main = kSound,
     .width = Width::partial_factor},
    {.name = "fun_asr_nano_encoder", .class_stems = "FunAsrNanoEncoder", .main = kSanmStack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "fun_asr_nano_adaptor", .main = kAdaptorStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "granite_speech_encoder", .model_types = "granite_speech_encoder granite_speech_plus_encoder",
     .class_stems = "GraniteSpeechCTC", .main = kGraniteStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "granite_speech5_encoder", .class_stems = "GraniteSpeech5Encoder", .main = kGranite5Stack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "moonshine_streaming_encoder", .class_stems = "MoonshineStreamingEncoder", .main = kSeveralWindows,
     .scales = false, .rotary_layers = kNoRotaryLayer, .windows = Windows::pairs},
    {.name = "nemotron3_5_transcribe_asr_audio", .class_stems = "Nemotron3_5TranscribeAsrAudio", .pairing = kHalf,
     .main = kSound, .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead}},
    {.name = "nemotron3_5_transcribe_word_timestamp", .class_stems = "Nemotron3_5TranscribeWordTimestamp",
     .pairing = kHalf, .main = kSound, .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead}},
    {.name = "nemotron3_diarization_audio", .class_stems = "Nemotron3DiarizationAudio", .pairing = kHalf,
     .main = kSound, .width = Width::partial_factor},
    {.name = "nemotron_asr_streaming_encoder", .class_stems = "NemotronAsrStreamingEncoder", .main = kStreamingStack,
     .scales = false, .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "pe_audio_encoder", .class_stems = "PeAudioEncoder", .pairing = kInterleaved, .main = kSound,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "phi4_multimodal_audio", .class_stems = "Phi4MultimodalAudio", .main = kPhiStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .undecided_keys = "chunk_size bias_symmetric", .needs_length = false},
    {.name = "qwen2_5_omni_audio_encoder", .class_stems = "Qwen2_5OmniAudioEncoder", .main = kOmniStack,
     .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "qwen3_omni_moe_audio_encoder", .model_types = "qwen3_omni_moe_audio_encoder qwen3_asr_encoder",
     .class_stems = "Qwen3OmniMoeAudioEncoder Qwen3ASREncoder", .main = kOmni3Stack, .scales = false,
     .rotary_layers = kNoRotaryLayer},
    {.name = "voxtral_realtime_encoder", .class_stems = "VoxtralRealtimeEncoder", .pairing = kHalf,
     .main = kStreamedSound, .windows = Windows::every_layer},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
