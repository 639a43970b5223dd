// What the reference and the kernels refuse of score and value schemes, and the kernels' tables of any.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "attend/spoilt_call.h"
#include "support/all_schemes.h"

namespace posenc::test::scheme_refusals_test {
namespace {

using Call = SpoiltCall;

constexpr std::int64_t kAll = kHeads * kHeadDim;  // channels of all heads
// With which sums and products of shapes would wrap.
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// A layer with that term.
std::function<void(Call&)> of(const ScoreTerm& term, const ScoreWeights& weights = {}) {
  return [=](Call& c) {
    c.layer.score = {term};
    c.weights.score = {weights};
  };
}

template <typename Scheme>
Scheme& scheme(Call& c) {
  return std::get<Scheme>(c.layer.score.front());
}

template <typename Weights>
Weights& weights(Call& c) {
  return std::get<Weights>(c.weights.score.front());
}

// Distances that are not whole, and that are too far for a table.
void stand_between(Call& c) {
  static const std::array<double, kTokens> between{0.0, 1.0, 2.0, 2.5};
  c.inputs.k_positions = std::span<const double>(between);
}
void stand_far_apart(Call& c) {
  static const std::array<std::int64_t, kTokens> far{0, 1, 2, std::int64_t{1} << 40};
  c.inputs.k_positions = std::span<const std::int64_t>(far);
}

Spoil not_whole() { return {"[attend] weights.score[0] must have whole distances but is -2.5", stand_between}; }
Spoil not_whole_for_a_table() {
  return {"[lower] positions must have whole distances, for a table of them but is 0 and 2.5", stand_between,
          RefusedBy::kernels};
}
Spoil no_tables() {
  return {"[attend] weights.score[0] must hold the scheme's learned tables but is omitted, or another scheme's",
          [](Call& c) { c.weights.score.clear(); }};
}
Spoil tables_of_another() {
  return {"[attend] weights.score[0] must hold the scheme's learned tables but is omitted, or another scheme's",
          [](Call& c) { c.weights.score = {CopeWeights{}}; }};
}
Spoil needless_tables() {
  return {"[attend] weights.score[0] must hold nothing but is tables",
          [](Call& c) { c.weights.score = {CopeWeights{}}; }};
}

TEST(SchemeRefusals, OfTablesByDistance) {
  const T5Bias t5{.buckets = 8, .max_distance = 16};
  static constexpr std::array<float, kHeads> below_zero{0.5F, 0.25F, -0.5F, 1.0F};
  expect_refused({
      {"T5",
       of(t5, T5Weights{zeros_of({8, kHeads})}),
       {{"[attend] weights.score must have an entry for each of 1 terms but is 2 long",
         [](Call& c) { c.weights.score.emplace_back(); }},
        no_tables(),
        tables_of_another(),
        {"[attend] weights.score[0].table must have shape [8, 4] but is [4, 8]",
         [](Call& c) {
           weights<T5Weights>(c).table = zeros_of({kHeads, 8});
         }},
        {"[attend] weights.score[0].table.data must point to the elements but is null",
         [](Call& c) { weights<T5Weights>(c).table.data = nullptr; }},
        {"[t5_bucket] buckets must be at least 2 but is 1", of(T5Bias{.buckets = 1}, T5Weights{zeros_of({1, kHeads})})},
        {"[t5_bucket] buckets must be at least 4 but is 2",
         of(T5Bias{.buckets = 2, .bidirectional = true}, T5Weights{zeros_of({2, kHeads})})},
        {"[t5_bucket] max_distance must be at least 5 but is 4", [](Call& c) { scheme<T5Bias>(c).max_distance = 4; }},
        {"[attend] layer.score.axis must be from 0 to 15 but is -1", [](Call& c) { scheme<T5Bias>(c).axis = -1; }},
        {"[attend] layer.score.axis must be from 0 to 15 but is 16", [](Call& c) { scheme<T5Bias>(c).axis = 16; }},
        {"[attend] row_gate must have shape [4, 4] but is omitted", [](Call& c) { scheme<T5Bias>(c).gated = true; }},
        not_whole()}},
      {"clipped",
       of(ClippedBias{.past = 2, .future = 1}, ClippedBiasWeights{zeros_of({4, kHeads})}),
       {no_tables(),
        {"[attend] weights.score[0].past must be at least 0 but is -1",
         [](Call& c) { scheme<ClippedBias>(c).past = -1; }},
        {"[attend] weights.score[0].future must be at least 0 but is -2",
         [](Call& c) { scheme<ClippedBias>(c).future = -2; }},
        {"[attend] weights.score[0].past must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { scheme<ClippedBias>(c).past = kMost; }},
        {"[attend] weights.score[0].future must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { scheme<ClippedBias>(c).future = kMost; }},
        {"[attend] weights.score[0].table must have shape [5, 4] but is [4, 4]",
         [](Call& c) { scheme<ClippedBias>(c).past = 3; }},
        not_whole()}},
      {"KERPLE",
       of(Kerple{}, KerpleWeights{zeros_of({kHeads}), zeros_of({kHeads})}),
       {no_tables(),
        {"[attend] weights.score[0].r1 must have shape [4] but is omitted",
         [](Call& c) { weights<KerpleWeights>(c).r1 = {}; }},
        {"[attend] weights.score[0].r2 must have shape [4] but is [2]",
         [](Call& c) { weights<KerpleWeights>(c).r2 = zeros_of({2}); }},
        {"[kerple_bias] r1 must be at least 0, as training clamps it but is -0.5",
         [](Call& c) { weights<KerpleWeights>(c).r1.data = below_zero.data(); }},
        {"[kerple_bias] r2 must be at least 0, as training clamps it but is -0.5",
         [](Call& c) { weights<KerpleWeights>(c).r2.data = below_zero.data(); }},
        not_whole_for_a_table(),
        {"[lower] positions must have distances for a table of at most 1073741824 bytes but is 17592186044480 bytes",
         stand_far_apart, RefusedBy::kernels}}},
  });
}

TEST(SchemeRefusals, OfFormulasOfTheDistance) {
  const FireWeights fire{.c = 1.0,
                         .threshold = 8.0,
                         .hidden = {zeros_of({3, 1}), zeros_of({3})},
                         .out = {zeros_of({kHeads, 3}), zeros_of({kHeads})}};
  const MlpBiasWeights perceptron{{{zeros_of({3, 1}), zeros_of({3})}, {zeros_of({kHeads, 3}), zeros_of({kHeads})}}};
  expect_refused({
      {"ALiBi",
       of(Alibi{.heads = kHeads}),
       {needless_tables(),
        {"[attend] weights.score[0] must have slopes for 4 heads but is 8",
         [](Call& c) { scheme<Alibi>(c).heads = 8; }}}},
      {"Sandwich",
       of(Sandwich{.heads = kHeads, .channels = 8}),
       {needless_tables(),
        {"[attend] weights.score[0] must be of 4 heads but is 0", [](Call& c) { scheme<Sandwich>(c).heads = 0; }},
        {"[attend] weights.score[0].channels must be at least 2 but is 1",
         [](Call& c) { scheme<Sandwich>(c).channels = 1; }},
        not_whole_for_a_table()}},
      {"FIRE",
       of(Fire{}, fire),
       {no_tables(),
        {"[attend] weights.score[0] must have c and threshold above 0 but is otherwise",
         [](Call& c) { weights<FireWeights>(c).c = 0.0; }},
        {"[attend] weights.score[0] must have c and threshold above 0 but is otherwise",
         [](Call& c) { weights<FireWeights>(c).threshold = std::numeric_limits<double>::quiet_NaN(); }},
        {"[attend] weights.score[0].hidden.weight must have shape [0, 1] but is omitted",
         [](Call& c) { weights<FireWeights>(c).hidden = {}; }},
        {"[attend] weights.score[0].hidden.bias must have shape [3] but is [4]",
         [](Call& c) { weights<FireWeights>(c).hidden.bias = zeros_of({4}); }},
        {"[attend] weights.score[0].out.weight must have shape [4, 3] but is [4, 2]",
         [](Call& c) {
           weights<FireWeights>(c).out.weight = zeros_of({kHeads, 2});
         }},
        not_whole_for_a_table()}},
      {"a perceptron",
       of(MlpBias{}, perceptron),
       {no_tables(),
        {"[attend] weights.score[0].layers must have at least one layer but is empty",
         [](Call& c) { weights<MlpBiasWeights>(c).layers.clear(); }},
        {"[attend] weights.score[0].layers[0].weight must have shape [3, 1] but is [3, 2]",
         [](Call& c) {
           weights<MlpBiasWeights>(c).layers[0].weight = zeros_of({3, 2});
         }},
        {"[attend] weights.score[0].layers[1].weight must have shape [4, 3] but is [2, 3]",
         [](Call& c) {
           weights<MlpBiasWeights>(c).layers[1].weight = zeros_of({2, 3});
         }},
        {"[attend] weights.score[0].layers[1].bias must have shape [4] but is [2]",
         [](Call& c) { weights<MlpBiasWeights>(c).layers[1].bias = zeros_of({2}); }},
        not_whole_for_a_table()}},
  });
}

// Tokens of a line of four, all in row 0.
void stand_in_a_line(Call& c) {
  static const std::array<std::int64_t, 2 * kTokens> line{0, 0, 0, 0, 0, 1, 2, 3};
  c.inputs.q_positions = c.inputs.k_positions = std::span<const std::int64_t>(line);
}
void stand_outside(Call& c) {
  static const std::array<std::int64_t, 2 * kTokens> longer{0, 0, 0, 0, 0, 1, 2, 4};
  c.inputs.k_positions = std::span<const std::int64_t>(longer);
}
void stand_between_columns(Call& c) {
  static const std::array<double, 2 * kTokens> between{0, 0, 0, 0, 0, 1, 2, 2.5};
  c.inputs.k_positions = std::span<const double>(between);
}

TEST(SchemeRefusals, OfTablesOverImages) {
  expect_refused({
      {"a window",
       [](Call& c) {
         of(GridBias{.rows = 1, .columns = 4}, GridBiasWeights{zeros_of({7, kHeads})})(c);
         stand_in_a_line(c);
       },
       {no_tables(),
        {"[attend] weights.score[0].rows must be at least 1 but is 0", [](Call& c) { scheme<GridBias>(c).rows = 0; }},
        {"[attend] weights.score[0].columns must be at least 1 but is -4",
         [](Call& c) { scheme<GridBias>(c).columns = -4; }},
        {"[attend] weights.score[0].rows must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { scheme<GridBias>(c).rows = kMost; }},
        {"[attend] weights.score[0].columns must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { scheme<GridBias>(c).columns = kMost; }},
        {"[attend] weights.score[0].table must have shape [21, 4] but is [7, 4]",
         [](Call& c) { scheme<GridBias>(c).rows = 2; }},
        {"[attend] weights.score[0] must have distances of at most 3 but is -4", stand_outside},
        {"[attend] weights.score[0] must have whole distances but is -2.5", stand_between_columns}}},
      {"rows and columns",
       [](Call& c) {
         of(DecomposedHw{.rows = 7}, DecomposedHwWeights{zeros_of({7, kHeadDim}), zeros_of({7, kHeadDim})})(c);
         stand_in_a_line(c);
       },
       {no_tables(),
        {"[attend] weights.score[0].rows must be odd, 2 side - 1 but is 8",
         [](Call& c) { scheme<DecomposedHw>(c).rows = 8; }},
        {"[attend] weights.score[0].rows must have shape [7, 8] but is [5, 8]",
         [](Call& c) {
           weights<DecomposedHwWeights>(c).rows = zeros_of({5, kHeadDim});
         }},
        {"[attend] weights.score[0].columns must have shape [7, 8] but is omitted",
         [](Call& c) { weights<DecomposedHwWeights>(c).columns = {}; }},
        {"[attend] weights.score[0] must have distances of at most 3 but is -4", stand_outside},
        {"[attend] weights.score[0] must have whole distances but is -2.5", stand_between_columns}}},
  });
}

TEST(SchemeRefusals, OfShaw) {
  const ShawKeys keys{.left = 2, .right = 1};
  expect_refused({
      {"keys",
       of(keys, ShawWeights{zeros_of({4, kHeadDim})}),
       {no_tables(),
        {"[attend] weights.score[0].left must be at least 0 but is -1", [](Call& c) { scheme<ShawKeys>(c).left = -1; }},
        {"[attend] weights.score[0].right must be at least 0 but is -1",
         [](Call& c) { scheme<ShawKeys>(c).right = -1; }},
        {"[attend] weights.score[0].left must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { scheme<ShawKeys>(c).left = kMost; }},
        {"[attend] weights.score[0].right must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { scheme<ShawKeys>(c).right = kMost; }},
        {"[attend] weights.score[0].table must have shape [4, 8] but is [3, 8]",
         [](Call& c) {
           weights<ShawWeights>(c).table = zeros_of({3, kHeadDim});
         }},
        {"[attend] weights.score[0].table must have shape [4, 4, 8] but is [2, 4, 8]",
         [](Call& c) {
           weights<ShawWeights>(c).table = zeros_of({2, 4, kHeadDim});
         }},
        not_whole()}},
      {"keys by sines",
       of(ShawKeys{.left = 2, .right = 1, .sinusoidal = true}),
       {{"[attend] weights.score[0] must hold nothing but is tables",
         [](Call& c) {
           c.weights.score = {ShawWeights{zeros_of({4, kHeadDim})}};
         }},
        {"[attend] weights.score[0].left must be at least 0 but is -3", [](Call& c) { scheme<ShawKeys>(c).left = -3; }},
        not_whole()}},
      {"values",
       [](Call& c) {
         c.layer.value = ShawValues{.left = 2, .right = 1};
         c.weights.value.table = zeros_of({4, kValueDim});
       },
       {{"[attend] weights.value.table must have shape [4, 6] but is omitted",
         [](Call& c) { c.weights.value.table = {}; }},
        {"[attend] weights.value.left must be at least 0 but is -1",
         [](Call& c) { c.layer.value = ShawValues{.left = -1, .right = 1}; }},
        {"[attend] weights.value.left must be at most 1073741824 but is 9223372036854775807",
         [](Call& c) { c.layer.value = ShawValues{.left = kMost, .right = 1}; }},
        {"[attend] weights.value must hold nothing but is a table",
         [](Call& c) { std::get<ShawValues>(c.layer.value).sinusoidal = true; }},
        {"[attend] weights.value must have whole distances but is -2.5", stand_between}}},
  });
}

TransformerXlWeights transformer_xl() {
  return {zeros_of({kAll, 6}), zeros_of({kHeads, kHeadDim}), zeros_of({kHeads, kHeadDim})};
}

TEST(SchemeRefusals, OfTransformerXlAndXlNet) {
  const XlNetWeights xlnet{transformer_xl(), zeros_of({kHeads, kHeadDim}), zeros_of({2, kHeads, kHeadDim})};
  static const std::array<std::int32_t, kTokens> segments{0, 0, 1, 1};
  expect_refused({
      {"Transformer-XL",
       of(TransformerXl{}, transformer_xl()),
       {no_tables(),
        {"[attend] weights.score[0].projection: channels must be at least 2 but is 0",
         [](Call& c) { weights<TransformerXlWeights>(c).projection = {}; }},
        {"[attend] weights.score[0].projection must have shape [32, 6] but is [8, 6]",
         [](Call& c) {
           weights<TransformerXlWeights>(c).projection = zeros_of({kHeadDim, 6});
         }},
        {"[attend] weights.score[0].content_bias must have shape [4, 8] but is omitted",
         [](Call& c) { weights<TransformerXlWeights>(c).content_bias = {}; }},
        {"[attend] weights.score[0].position_bias must have shape [4, 8] but is [4]",
         [](Call& c) { weights<TransformerXlWeights>(c).position_bias = zeros_of({kHeads}); }},
        {"[attend] weights.score[0].content_bias must be omitted but is given",
         [](Call& c) { scheme<TransformerXl>(c).content_bias = false; }},
        {"[attend] weights.score[0].position_bias must be omitted but is given",
         [](Call& c) { scheme<TransformerXl>(c).position_bias = false; }},
        {"[attend] weights.score[0].table must have the distances of its rows, by the scheme's distances or "
         "clamp_length, but is without either",
         [](Call& c) {
           weights<TransformerXlWeights>(c).table = zeros_of({5, 6});
         }},
        not_whole_for_a_table()}},
      {"Transformer-XL's learned rows",
       [](Call& c) {
         of(TransformerXl{.distances = Distances{-1, 3}}, transformer_xl())(c);
         weights<TransformerXlWeights>(c).table = zeros_of({5, 6});
       },
       {{"[attend] weights.score[0].table must have shape [5, 6] but is [4, 6]",
         [](Call& c) {
           weights<TransformerXlWeights>(c).table = zeros_of({4, 6});
         }},
        {"[attend] weights.score[0].table must have shape [5, 6] but is [5, 8]",
         [](Call& c) {
           weights<TransformerXlWeights>(c).table = zeros_of({5, 8});
         }},
        {"[attend] weights.score[0].table must have shape [6, 6] but is [5, 6]",
         [](Call& c) {
           scheme<TransformerXl>(c).distances = Distances{-2, 3};
         }},
        {"[attend] weights.score[0].table must have distances from low to high, 1073741824 at most, but is 4 to 3",
         [](Call& c) {
           scheme<TransformerXl>(c).distances = Distances{4, 3};
         }},
        {"[attend] weights.score[0].table must have distances from low to high, 1073741824 at most, but is 0 to "
         "9223372036854775807",
         [](Call& c) {
           scheme<TransformerXl>(c).distances = Distances{0, kMost};
         }},
        {"[attend] weights.score[0].table must have distances within clamp_length, 1, but is 2 to 6",
         [](Call& c) {
           scheme<TransformerXl>(c) = TransformerXl{.clamp_length = 1, .distances = Distances{2, 6}};
         }},
        not_whole()}},
      {"XLNet",
       [=](Call& c) {
         of(XlNet{}, xlnet)(c);
         c.inputs.q_segments = c.inputs.k_segments = segments;
       },
       {{"[attend] q must be a batch of an even number of sequences, since half of them are read backwards but is "
         "otherwise",
         [](Call& c) { scheme<XlNet>(c).bidirectional_data = true; }},
        {"[attend] weights.score[0].table must have the distances of its rows, by the scheme's distances or "
         "clamp_length, but is without either",
         [](Call& c) {
           weights<XlNetWeights>(c).positions.table = zeros_of({5, 6});
         }},
        {"[attend] weights.score[0].segments must have shape [2, 4, 8] but is omitted",
         [](Call& c) { weights<XlNetWeights>(c).segments = {}; }},
        {"[attend] weights.score[0].segment_bias must have shape [4, 8] but is omitted",
         [](Call& c) { weights<XlNetWeights>(c).segment_bias = {}; }},
        {"[attend] q_segments and k_segments must be given, since there are weights for segments but is omitted",
         [](Call& c) { c.inputs.k_segments = {}; }}}},
  });
}

TEST(SchemeRefusals, OfDeberta) {
  const Linear projection{zeros_of({kAll, 3}), zeros_of({kAll})};
  const DebertaWeights learned{zeros_of({16, 3}), projection, projection};
  expect_refused({
      {"logarithmic buckets",
       of(Deberta{.buckets = 8, .max_distance = 16}, learned),
       {no_tables(),
        {"[deberta_row] max_distance must be at least 1 but is 0", of(Deberta{}, learned)},
        {"[deberta_row] buckets must be at least 2 but is 1",
         of(Deberta{.buckets = 1, .max_distance = 16}, DebertaWeights{zeros_of({2, 3}), projection, projection})},
        {"[attend] weights.score[0].max_distance must be at most 1073741824 but is 9223372036854775807",
         of(Deberta{.max_distance = kMost}, learned)},
        {"[attend] weights.score[0].buckets must be at most 1073741824 but is 9223372036854775807",
         of(Deberta{.buckets = kMost, .max_distance = kMost}, learned)},
        {"[deberta_row] max_distance must be at least 6 but is 5",
         [](Call& c) { scheme<Deberta>(c).max_distance = 5; }},
        {"[attend] weights.score[0].table must have shape [16, 3] but is [8, 3]",
         [](Call& c) {
           weights<DebertaWeights>(c).table = zeros_of({8, 3});
         }},
        {"[attend] weights.score[0].keys.weight must have shape [32, 3] but is omitted",
         [](Call& c) { weights<DebertaWeights>(c).keys = {}; }},
        {"[attend] weights.score[0].queries.bias must have shape [32] but is [4]",
         [](Call& c) { weights<DebertaWeights>(c).queries.bias = zeros_of({kHeads}); }},
        not_whole()}},
  });
}

TEST(SchemeRefusals, OfSumsAlongTheRow) {
  static const std::array<float, kTokens* kHeads> shut = [] {
    std::array<float, kTokens * kHeads> out{};
    out.front() = -std::numeric_limits<float>::infinity();
    return out;
  }();
  expect_refused({
      {"contextual positions",
       of(ContextualPosition{.positions = 3}, CopeWeights{zeros_of({3, kHeadDim})}),
       {no_tables(),
        {"[attend] weights.score[0].positions must be at least 1 but is 0",
         [](Call& c) { scheme<ContextualPosition>(c).positions = 0; }},
        {"[attend] weights.score[0].table must have shape [4, 8] but is [3, 8]",
         [](Call& c) { scheme<ContextualPosition>(c).positions = 4; }}}},
      {"forget gates",
       [](Call& c) {
         of(ForgetGate{})(c);
         c.inputs.log_forget = zeros_of({kTokens, kHeads});
       },
       {needless_tables(),
        {"[attend] log_forget must have shape [4, 4] but is omitted", [](Call& c) { c.inputs.log_forget = {}; }},
        {"[lower] log_forget must be finite, for sums from the start of the sequence but is -inf",
         [](Call& c) { c.inputs.log_forget.data = shut.data(); }, RefusedBy::kernels}}},
  });
}

}  // namespace
}  // namespace posenc::test::scheme_refusals_test
