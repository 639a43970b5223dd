// Series of numbers in place of text. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "plan/facts/layer_pattern.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kSeriesEncoderKeys[] = {{&keys::kLayers, "encoder_layers"},
                                         {&keys::kHeads, "encoder_attention_heads"},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength}};
constexpr OwnKey kSeriesDecoderKeys[] = {{&keys::kLayers, "decoder_layers"},
                                         {&keys::kHeads, "decoder_attention_heads"},
                                         {&keys::kKvHeads},
                                         {&keys::kHeadDim},
                                         {&keys::kLength}};
constexpr OwnKey kPatchKeys[] = {{&keys::kKvHeads}, {&keys::kHeadDim}, {&keys::kLength}};
constexpr OwnKey kTimesFmKeys[] = {{&keys::kKvHeads}, {&keys::kLength}};
constexpr InputRule kSeriesSines{
    .kind = InputKind::sinusoidal, .convention = SinusoidConvention::marian, .rows = Rows::unlimited};
// What is foretold is counted on from the context.
constexpr InputRule kSinesAfterContext{.kind = InputKind::sinusoidal,
                                       .convention = SinusoidConvention::marian,
                                       .offset_key = &keys::kContextLength,
                                       .rows = Rows::unlimited};
// The first row of a table by tokens is added to all of them, which tells none apart.
constexpr InputRule kSteps{.kind = InputKind::rows,
                           .table_rows = &keys::kEpisode,
                           .tokens = "steps, whose gain to come, state and action are a token each"};
constexpr StackRule kDecisionStack{.input = kSteps, .own_keys = kPlainHeads};
constexpr StackRule kSeriesEncoder{
    .name = "encoder", .mask = kBothWays, .input = kSeriesSines, .own_keys = kSeriesEncoderKeys};
constexpr StackRule kSeriesDecoder{.input = kSinesAfterContext, .cross = kEach, .own_keys = kSeriesDecoderKeys};
// ProbSparse attention, arXiv 2012.07436.
constexpr StackRule kInformerEncoder{
    .name = "encoder",
    .mask = {.kind = MaskKind::bidirectional,
             .sparse_if = {.key = &keys::kPattern,
                           .word = "prob",
                           .detail = {"the queries whose scores with keys drawn at random stand out most see all keys; "
                                      "the others get the mean of all values",
                                      Sees::beyond_window}}},
    .input = kSeriesSines,
    .own_keys = kSeriesEncoderKeys};
constexpr StackRule kInformerDecoder{
    .mask =
        {.sparse_if = {.key = &keys::kPattern,
                       .word = "prob",
                       .detail = {"causal for the queries whose scores with keys drawn at random stand out most; the "
                                  "others get the sum of all values up to theirs",
                                  Sees::beyond_window}}},
    .input = kSinesAfterContext,
    .cross = kEach,
    .own_keys = kSeriesDecoderKeys};
constexpr StackRule kPatchStack{.name = "encoder", .mask = kBothWays, .own_keys = kPatchKeys};

// A row for each patch, and one for the class token: learned, or sines that are centred and scaled once and frozen,
// which the checkpoint holds as well.
SchemeChoice patch_table(ConfigScope& scope, const SchemeFacts&) {
  constexpr Bounds kLengths{1, kMaxPosition};
  const Sourced<std::int64_t> length = scope.required_integer(keys::kContextLength, kLengths);
  const Sourced<std::int64_t> patch = scope.required_integer(keys::kPatchLength, kLengths);
  const Sourced<std::int64_t> stride = scope.required_integer(keys::kPatchStride, kLengths);
  const bool has_class = scope.flag(keys::kClassToken).value.value_or(false);
  const std::int64_t after_first = std::max<std::int64_t>(length.value - patch.value, 0);
  return choose_table(after_first / stride.value + (has_class ? 2 : 1), length.from);
}

constexpr InputRule kTimesFmSines{.kind = InputKind::sinusoidal,
                                  .convention = SinusoidConvention::whisper,
                                  .rows = Rows::unlimited,
                                  .present_if = &keys::kTowerTimes};
constexpr QkNorm kWeightedRmsAfterRotation{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};
constexpr StackRule kTimesFmStack{.input = kTimesFmSines, .own_keys = kTimesFmKeys};

// q by softplus(w) / (ln(2) sqrt(head_dim)); w is learned.
std::optional<Sourced<double>> over_ln2(ConfigScope&, const AttentionShape& shape) {
  return Sourced<double>{1 / (std::numbers::ln2 * std::sqrt(static_cast<double>(shape.head_dim.value))),
                         "default: 1 / (ln(2) sqrt(head_dim))"};
}

}  // namespace

std::span<const Family> time_series_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "time_series_transformer", .class_stems = "TimeSeriesTransformer", .main = kSeriesDecoder,
     .encoder = &kSeriesEncoder, .scales = false, .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "informer", .class_stems = "Informer", .main = kInformerDecoder, .encoder = &kInformerEncoder, .scales = false,
     .rotary_layers = kNoRotaryLayer, .needs_length = false},
    {.name = "autoformer", .class_stems = "Autoformer", .main = kSeriesDecoder, .encoder = &kSeriesEncoder,
     .scales = false, .rotary_layers = kNoRotaryLayer,
     .undecided = "whole series are added up at the delays where they resemble themselves, in place of attention to "
         "single tokens; a plan cannot hold that", .needs_length = false},
    // Patches, normalised by the mean and deviation of the series so far.
    {.name = "timesfm", .class_stems = "TimesFm", .main = kTimesFmStack, .scales = false, .channel_scale = true,
     .mixed_input = "timesfm", .rotary_layers = kNoRotaryLayer, .softmax_scale = over_ln2, .needs_length = false},
    {.name = "timesfm2_5", .class_stems = "TimesFm2_5", .pairing = kHalf, .channel_scale = true,
     .mixed_input = "timesfm2_5", .qk_norm = QkNormRule{kWeightedRmsAfterRotation}, .softmax_scale = over_ln2},
    {.name = "decision_transformer", .class_stems = "DecisionTransformer",
     .own_names = "n_embd n_head n_layer n_positions", .main = kDecisionStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .scale = Scale::switched},
    {.name = "patchtst", .class_stems = "PatchTST", .main = kPatchStack, .scales = false,
     .rotary_layers = kNoRotaryLayer, .scheme = patch_table, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
