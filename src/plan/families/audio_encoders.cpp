// Encoders of sound without a decoder of their own: conformers with rotations or in blocks, Whisper's without a
// decoder. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   fireredasr2_encoder: vLLM conformer_encoder.py. funasr_encoder, funasr_adaptor: vLLM funasr.py.
//   moss_audio_encoder: vLLM moss_audio.py. phi4mm_audio: vLLM phi4mm_audio.py.
//   midashenglm_dasheng_encoder: vLLM midashenglm.py.
#include <algorithm>

#include "base/formatted.h"
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
constexpr OwnKey kFireRedKeys[] = {{&keys::kLayers, "n_layers_enc"},
                                   {&keys::kHeads, "n_head"},
                                   {&keys::kHidden, "d_model"},
                                   {&keys::kKvHeads},
                                   {&keys::kHeadDim},
                                   {&keys::kLength}};
constexpr OwnKey kFunAsrKeys[] = {{&keys::kLayers, "num_blocks"},
                                  {&keys::kHeads, "attention_heads"},
                                  {&keys::kHidden, "output_size"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength}};
constexpr OwnKey kFunAsrSecondKeys[] = {{&keys::kLayers, "tp_blocks"},
                                        {&keys::kHeads, "attention_heads"},
                                        {&keys::kHidden, "output_size"},
                                        {&keys::kKvHeads},
                                        {&keys::kHeadDim},
                                        {&keys::kLength}};
constexpr OwnKey kFunAsrAdaptorKeys[] = {{&keys::kLayers, "adaptor_layers"},
                                         {&keys::kHeads, "adaptor_heads"},
                                         {&keys::kHidden, "adaptor_dim"},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength}};
constexpr OwnKey kDashengKeys[] = {{&keys::kLayers, "depth"},
                                   {&keys::kHeads, "num_heads"},
                                   {&keys::kHidden, "embed_dim"},
                                   {&keys::kKvHeads},
                                   {&keys::kHeadDim},
                                   {&keys::kLength}};
constexpr OwnKey kStreamingKeys[] = {{&keys::kKvHeads}};
constexpr OwnKey kPhi4mmKeys[] = {{&keys::kLayers, "num_blocks"},
                                  {&keys::kHeads, "attention_heads"},
                                  {&keys::kHidden, "attention_dim"},
                                  {&keys::kBiasReach, "t5_bias_max_distance"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength}};
constexpr OwnKey kPhiKeys[] = {{&keys::kLayers, "num_blocks"}, {&keys::kKvHeads}, {&keys::kLength}};

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

// Three convolutions halve the 2 * n_window frames that are numbered together, rounding up.
Sourced<std::int64_t> eighth_block(ConfigScope& scope) {
  Sourced<std::int64_t> half = scope.required_integer(keys::kHalfBlock, kFrames);
  half.value = (2 * half.value + 7) / 8;
  return half;
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

// A patch is [bands, frames], or as long as it is wide.
std::int64_t patch_side(ConfigScope& scope, std::size_t at) {
  const auto place = scope.find(keys::kPatchStride);
  if (!place) return 1;
  if (place->value.kind() != io::JsonKind::array) return scope.reader().integer(*place, kFrames).value_or(1);
  const auto sides = scope.reader().list(*place);
  if (!sides || sides->size() != 2) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, "a number, or a height and a width");
    return 1;
  }
  return scope.reader().integer(Place{(*sides)[at], (*sides)[at].pointer()}, kFrames).value_or(1);
}

// A row for each patch of time; that of the bands is one for all, where they are one patch.
SchemeChoice dasheng_table(ConfigScope& scope, const SchemeFacts&) {
  const Sourced<std::int64_t> frames = scope.required_integer(keys::kTargetFrames, kFrames);
  const Sourced<std::int64_t> bands = scope.required_integer(keys::kMels, kFrames);
  const std::int64_t high = patch_side(scope, 0);
  const std::int64_t wide = patch_side(scope, 1);
  if (scope.reader().failed()) return {};
  if (bands.value / high != 1) {
    scope.reader().undecided(
        formatted("{}: its table of bands has {} rows, which no rule here reads.", bands.from, bands.value / high),
        {bands.from});
  }
  return choose_table(std::max<std::int64_t>(frames.value / wide, 1), frames.from);
}

// The class cuts after a fourth of the frames, which are four to a patch in its files.
Sourced<std::int64_t> dasheng_block(ConfigScope& scope) {
  Sourced<std::int64_t> frames = scope.required_integer(keys::kTargetFrames, kFrames);
  frames.value = std::max<std::int64_t>(frames.value / 4, 1);
  return frames;
}

// Below 0 there are no chunks.
SchemeChoice phi4mm_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto chunk = scope.look("chunk_size");
  if (chunk && scope.reader().integer(*chunk, {-1, kMaxPosition}).value_or(0) != -1) {
    scope.reader().undecided(formatted("{}: what chunks see of each other is not read.", chunk->from), {chunk->from});
  }
  if (chunk) scope.reader().mark_read(*chunk);
  return {.from = family_default(scope.family())};
}

constexpr std::string_view kFrameOfBlock = "frame of its block";
constexpr InputRule kRestartedSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::whisper, .axis = kFrameOfBlock};
constexpr InputRule kScaledSinesFrom1{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::whisper, .offset = 1, .always_scaled = true};
constexpr StackRule kSound{.name = "audio", .mask = kBothWays};
constexpr StackRule kSeveralWindows{.name = "encoder", .mask = kBothWays};
constexpr OwnKey kPatchedSoundKeys[] = {{&keys::kKvHeads}, {&keys::kLength}};
constexpr StackRule kPatchedSound{.name = "audio", .mask = kBothWays, .own_keys = kPatchedSoundKeys};
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
                                    .own_keys = kUnboundKeys};
constexpr StackRule kOmniStack{.name = "audio",
                               .mask = {.kind = MaskKind::bidirectional, .block = halved_block},
                               .input = kRestartedSines,
                               .own_keys = kOmniKeys};
constexpr StackRule kOmni3Stack{.name = "audio",
                                .mask = {.kind = MaskKind::bidirectional, .block = eighths_block},
                                .input = kRestartedSines,
                                .own_keys = kOmniKeys};
constexpr StackRule kDashengStack{
    .name = "audio", .mask = {.kind = MaskKind::bidirectional, .block = dasheng_block}, .own_keys = kDashengKeys};
constexpr StackRule kMossStack{.name = "audio",
                               .mask = {.kind = MaskKind::bidirectional, .block = eighth_block},
                               .input = kRestartedSines,
                               .own_keys = kOmniKeys};
constexpr StackRule kFireRedStack{
    .name = "audio", .mask = kBothWays, .score = kSinesOfDistances, .own_keys = kFireRedKeys};
constexpr StackRule kFunAsrStack{
    .name = "encoder", .mask = kBothWays, .input = kScaledSinesFrom1, .own_keys = kFunAsrKeys};
constexpr StackRule kFunAsrSecond{.name = "second", .mask = kBothWays, .own_keys = kFunAsrSecondKeys};
constexpr const StackRule* kFunAsrMore[] = {&kFunAsrSecond};
constexpr StackRule kFunAsrAdaptor{.name = "audio_adapter", .mask = kBothWays, .own_keys = kFunAsrAdaptorKeys};
constexpr StackRule kSanmStack{.name = "audio", .mask = kBothWays, .input = kScaledSinesFrom1, .own_keys = kPlainHeads};
constexpr StackRule kAdaptorStack{.name = "audio_adapter", .mask = kBothWays, .own_keys = kNoLengthKeys};
constexpr StackRule kPhi4mmStack{.name = "audio",
                                 .mask = {.kind = MaskKind::bidirectional, .block = phi_block},
                                 .score = {.kind = ScoreKind::clipped},
                                 .own_keys = kPhi4mmKeys};
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
    {.name = "fireredasr2_encoder", .main = kFireRedStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "funasr_encoder", .main = kFunAsrStack, .more_stacks = kFunAsrMore, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "funasr_adaptor", .main = kFunAsrAdaptor, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    // head_dim cuts the channels into other heads, of which there are as many as fit.
    {.name = "fun_asr_nano_encoder", .class_stems = "FunAsrNanoEncoder", .main = kSanmStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .undecided_keys = "head_dim"},
    {.name = "fun_asr_nano_adaptor", .main = kAdaptorStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "granite_speech_encoder", .model_types = "granite_speech_encoder granite_speech_plus_encoder",
     .class_stems = "GraniteSpeechCTC", .main = kGraniteStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .needs_length = false},
    {.name = "granite_speech5_encoder", .class_stems = "GraniteSpeech5Encoder", .main = kGranite5Stack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "midashenglm_dasheng_encoder", .main = kDashengStack, .scales = false, .rotary_layers = kNoRotaryLayer,
     .scheme = dasheng_table, .needs_length = false},
    {.name = "moonshine_streaming_encoder", .class_stems = "MoonshineStreamingEncoder", .main = kSeveralWindows,
     .scales = false, .rotary_layers = kNoRotaryLayer, .windows = Windows::pairs},
    {.name = "moss_audio_encoder", .main = kMossStack, .scales = false, .rotary_layers = kNoRotaryLayer},
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
    {.name = "phi4mm_audio", .nested = "relative_attention_bias_args", .main = kPhi4mmStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .scheme = phi4mm_scheme, .undecided_keys = "t5_bias_symmetric",
     .needs_length = false},
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
