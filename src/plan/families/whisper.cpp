// Models that write down speech. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "base/formatted.h"
#include "plan/facts/plan_limits.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kSourceKeys[] = {{&keys::kLayers, "encoder_layers num_hidden_layers"},
                                  {&keys::kHeads, "encoder_attention_heads num_attention_heads"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength, "max_source_positions"}};
constexpr OwnKey kTargetKeys[] = {{&keys::kLayers, "decoder_layers"},
                                  {&keys::kHeads, "decoder_attention_heads"},
                                  {&keys::kKvHeads},
                                  {&keys::kHeadDim},
                                  {&keys::kLength, "max_target_positions"}};
constexpr InputRule kWhisperSines{.kind = InputKind::sinusoidal, .convention = SinusoidConvention::whisper};
constexpr StackRule kWhisperEncoder{
    .name = "encoder", .mask = kBothWays, .input = kWhisperSines, .own_keys = kSourceKeys};
constexpr StackRule kWhisperDecoder{.input = kTable, .cross = kEach, .own_keys = kTargetKeys};
constexpr StackRule kSpeechToTextEncoder{
    .name = "encoder", .mask = kBothWays, .input = kPaddedSines, .own_keys = kSourceKeys};
constexpr StackRule kSpeechToTextDecoder{.input = kPaddedSines, .cross = kEach, .own_keys = kTargetKeys};
constexpr OwnKey kMoonshineEncoderKeys[] = {{&keys::kLayers, keys::kNumEncoderLayers.names},
                                            {&keys::kHeads, keys::kEncoderHeads.names},
                                            {&keys::kKvHeads, keys::kEncoderKvHeads.names}};
constexpr OwnKey kMoonshineDecoderKeys[] = {{&keys::kLayers, keys::kNumDecoderLayers.names},
                                            {&keys::kHeads, keys::kDecoderHeads.names},
                                            {&keys::kKvHeads, keys::kDecoderKvHeads.names}};
constexpr StackRule kParakeetStack{
    .name = "encoder", .mask = kBothWays, .score = kSinesOfDistances, .own_keys = kUnboundKeys};
constexpr StackRule kGroupedEncoder{.name = "encoder", .mask = kBothWays};
constexpr StackRule kCohereAsrStack{.input = kTable, .cross = CrossAttention::every_block};
constexpr StackRule kMoonshineEncoder{.name = "encoder", .mask = kBothWays, .own_keys = kMoonshineEncoderKeys};
constexpr InputRule kEncoderRows{
    .kind = InputKind::rows, .table_rows = &keys::kLength, .tokens = "the frames that the encoder hands on"};
constexpr StackRule kStreamingDecoder{.input = kEncoderRows, .cross = CrossAttention::every_block};
constexpr StackRule kMoonshineDecoder{.cross = CrossAttention::every_block, .own_keys = kMoonshineDecoderKeys};

// Moonshine's class writes the encoder's numbers of heads over the decoder's as it builds the encoder, before the
// decoder reads them; a file with two numbers was written by other code.
AttentionShape moonshine_shape(ConfigScope& scope, AttentionShape shape) {
  if (scope.stack().cross == CrossAttention::none) return shape;
  const Setting<std::int64_t> heads = scope.integer(keys::kEncoderHeads, {1, kMaxHeads});
  const Setting<std::int64_t> kv_heads = scope.integer(keys::kEncoderKvHeads, {1, kMaxHeads});
  const std::int64_t others = heads.value.value_or(shape.heads.value);
  const std::int64_t other_kv_heads = kv_heads.value.value_or(others);
  if (others == shape.heads.value && other_kv_heads == shape.kv_heads.value) return shape;
  scope.reader().undecided(
      formatted("The encoder has {} heads and {} KV heads, the decoder {} and {}: the class gives both the encoder's.",
                others, other_kv_heads, shape.heads.value, shape.kv_heads.value),
      {});
  return shape;
}

}  // namespace

std::span<const Family> whisper_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "whisper", .class_stems = "Whisper", .main = kWhisperDecoder, .encoder = &kWhisperEncoder,
     .encoder_classes = "WhisperForAudioClassification", .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "speech_to_text", .class_stems = "Speech2Text", .main = kSpeechToTextDecoder,
     .encoder = &kSpeechToTextEncoder, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "moonshine", .class_stems = "Moonshine", .pairing = Pairing::interleaved, .main = kMoonshineDecoder,
     .encoder = &kMoonshineEncoder, .width = Width::partial_factor, .own_shape = moonshine_shape},
    {.name = "moonshine_streaming", .class_stems = "MoonshineStreaming", .pairing = Pairing::interleaved,
     .main = kStreamingDecoder, .width = Width::partial_factor},
    {.name = "cohere_asr", .class_stems = "CohereAsr", .main = kCohereAsrStack, .scales = false, .rotary_layers = kNoRotaryLayer},
    {.name = "parakeet_encoder", .class_stems = "ParakeetEncoder", .main = kParakeetStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "lasr_encoder", .class_stems = "LasrEncoder", .pairing = kHalf, .main = kGroupedEncoder},
    {.name = "glmasr_encoder", .class_stems = "GlmAsrEncoder", .pairing = kHalf, .main = kGroupedEncoder,
     .width = Width::partial_factor},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
