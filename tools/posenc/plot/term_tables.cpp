// reference::attend computes the picture: with a table whose row r holds the number r, a bias is the row that was
// taken; with a perceptron that returns its input, what it was asked. Terms of content are asked with queries of ones.
#include "plot/term_tables.h"

#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "line/text.h"
#include "posenc/input.h"
#include "posenc/scores.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kRow = "row of the learned table";
constexpr std::string_view kAsked = "what the MLP is asked";
constexpr std::string_view kAdded = "added to the score";

constexpr std::int64_t kSines = 64;  // Transformer-XL's channels

// [rows, times]: row r has the number r in every column.
std::vector<double> numbered(std::int64_t rows, std::int64_t times = 1) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < rows; ++r)
    out.insert(out.end(), static_cast<std::size_t>(times), static_cast<double>(r));
  return out;
}

std::vector<double> repeated(double value, std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), value);
}

// Puts a term's weights and inputs into the picture. A head has one channel, queries and keys are 0, unless said.
class Preparing {
 public:
  Preparing(const DrawnTerm& term, TermPicture& picture) : numbers_(term), out_(picture), drawn_(picture.drawn) {}

  // ALiBi and Sandwich are formulas, in which nothing is learned.
  void operator()(const Alibi&) { give(std::monostate{}, kAdded); }
  void operator()(const Sandwich&) { give(std::monostate{}, kAdded); }
  void operator()(const T5Bias& scheme) {
    give(T5Weights{table(numbered(scheme.buckets, heads()), {scheme.buckets, heads()})}, kRow);
    // WavLM's gate is a factor; 1 leaves the row's number as it is.
    if (scheme.gated)
      drawn_.inputs.row_gate = table(repeated(1.0, drawn_.queries * heads()), {drawn_.queries, heads()});
  }
  void operator()(const ClippedBias& scheme) {
    const std::int64_t rows = scheme.past + scheme.future + 1;
    give(ClippedBiasWeights{table(numbered(rows, heads()), {rows, heads()})}, kRow);
  }
  void operator()(const GridBias& scheme) {
    over_grid(scheme.rows, scheme.columns);
    const std::int64_t rows = (2 * scheme.rows - 1) * (2 * scheme.columns - 1);
    give(GridBiasWeights{table(numbered(rows, heads()), {rows, heads()})}, kRow);
  }
  // The same r1 and r2 for every head.
  void operator()(const Kerple&) {
    give(KerpleWeights{table(repeated(numbers_.r1, heads()), {heads()}),
                       table(repeated(numbers_.r2, heads()), {heads()})},
         kAdded);
    out_.detail += formatted("; r1 {}, r2 {}", number(numbers_.r1), number(numbers_.r2));
  }
  // One unit, whose ReLU changes nothing: the quotient is never below 0.
  void operator()(const Fire&) {
    give(FireWeights{.c = numbers_.c, .threshold = numbers_.threshold, .hidden = same(1), .out = same(heads())},
         kAsked);
    out_.detail += formatted("; c {}, L {}", number(numbers_.c), number(numbers_.threshold));
  }
  void operator()(const MlpBias&) { give(MlpBiasWeights{{same(heads())}}, kAsked); }
  // A query of ones times a row of the table, whose channels are all r, is channels * r; the softmax scale divides by
  // channels.
  void operator()(const ShawKeys& scheme) {
    if (scheme.sinusoidal) throw UsageError{"a table of sines of the distance: see posenc plot encoding"};
    const std::int64_t rows = scheme.left + scheme.right + 1;
    ask_with_ones();
    give(ShawWeights{table(numbered(rows, channels()), {rows, channels()})}, kRow);
    drawn_.layer.softmax_scale = 1.0 / static_cast<double>(channels());
  }
  // q is 0, so that v . W r(i - j) is left: the sum over p of cos((asks - (i - j)) w_p), highest, 32, at the distance
  // asked for.
  void operator()(const TransformerXl& scheme) {
    TransformerXlWeights weights = asking(scheme.sinusoid);
    // u . k_j of keys that are 0.
    if (scheme.content_bias) weights.content_bias = table(repeated(0.0, kSines), {1, kSines});
    if (!scheme.position_bias) {  // then queries ask, as v would have
      weights.position_bias = {};
      const std::vector<double> asks = asked_row(scheme.sinusoid);
      for (std::int64_t i = 0; i < drawn_.queries; ++i) drawn_.q.insert(drawn_.q.end(), asks.begin(), asks.end());
    }
    give(weights, kAdded);
    out_.detail += formatted("; v asks for distance {}, {} sines", numbers_.asks, kSines);
  }
  // As Transformer-XL; keys of the second half of the tokens belong to the second segment, as the last query does.
  // What a key gets for its segment, 16, is half of what one gets for the distance, so that both show.
  void operator()(const XlNet&) {
    constexpr double kSameSegment = 16.0;
    TransformerXlWeights positions = asking(SinusoidConvention::xlnet);
    positions.content_bias = table(repeated(0.0, kSines), {1, kSines});
    std::vector<double> first = repeated(0.0, 2 * kSines);
    first[0] = 1.0;
    const ConstTensorView asks_for_same = table({first.begin(), first.begin() + kSines}, {1, kSines});
    first[0] = kSameSegment;
    give(XlNetWeights{positions, asks_for_same, table(std::move(first), {2, 1, kSines})}, kAdded);
    for (std::int64_t j = 0; j < drawn_.keys; ++j) drawn_.segments.push_back(2 * j < drawn_.keys ? 0 : 1);
    drawn_.inputs.k_segments = drawn_.segments;
    drawn_.inputs.q_segments = std::span(drawn_.segments).last(static_cast<std::size_t>(drawn_.queries));
    out_.detail +=
        formatted("; it asks for distance {}, {} sines, and for keys of its own segment, a half of the tokens",
                  numbers_.asks, kSines);
  }
  // The table has one channel, r, which `keys` copies to all channels of a head; the rest is as for ShawKeys. Position
  // to content and position to position take the same rows: content to position alone is drawn.
  void operator()(const Deberta& scheme) {
    const std::int64_t rows = 2 * deberta_span(scheme);
    Deberta alone = scheme;
    alone.content_to_position = true;
    alone.position_to_content = false;
    alone.position_to_position = false;
    drawn_.layer.score = {alone};
    ask_with_ones();
    give(DebertaWeights{.table = table(numbered(rows), {rows, 1}), .keys = same(heads() * channels())}, kRow);
    drawn_.layer.softmax_scale = 1.0 / static_cast<double>(channels());
  }
  // One of two tables can be drawn, so that of the columns is 0; its rows would repeat one pattern in every block.
  void operator()(const DecomposedHw& scheme) {
    over_grid((scheme.rows + 1) / 2, (scheme.rows + 1) / 2);
    ask_with_ones();
    give(DecomposedHwWeights{.rows = table(numbered(scheme.rows, channels()), {scheme.rows, channels()}),
                             .columns = table(repeated(0.0, scheme.rows * channels()), {scheme.rows, channels()})},
         "row of the table of heights");
  }
  // Of x_il = 40 the gate is 1 and of -40 it is 0, to the last bits of a double.
  // Channel 0 makes the gates, as q is (1, 1) and k (40, 0) or (-40, 0); channel 1 reads the count p, as E[p] is (0,
  // p). Scores contain q.k, which bias_figure.cpp takes off.
  void operator()(const ContextualPosition& scheme) {
    constexpr double kSure = 40.0;
    drawn_.layer.head_dim = 2;
    drawn_.q = repeated(1.0, drawn_.queries * 2);
    drawn_.k = repeated(0.0, drawn_.keys * 2);
    for (std::int64_t j = 0; j < drawn_.keys; ++j) {
      drawn_.k[static_cast<std::size_t>(2 * j)] = (j + 1) % numbers_.every == 0 ? kSure : -kSure;
    }
    std::vector<double> second = repeated(0.0, scheme.positions * 2);
    for (std::int64_t p = 0; p < scheme.positions; ++p)
      second[static_cast<std::size_t>(2 * p + 1)] = static_cast<double>(p);
    give(CopeWeights{table(std::move(second), {scheme.positions, 2})}, "position of the key, as it is counted");
    out_.over_content = true;
    out_.detail += formatted("; the gate is open at every {}th key", numbers_.every);
  }
  // r_i is the same for all tokens: a line that falls to 0 at the last distance that has a row.
  void operator()(const DistanceLogits& scheme) {
    std::vector<double> logits;
    for (std::int64_t i = 0; i < drawn_.queries; ++i) {
      for (std::int64_t j = 0; j < drawn_.keys; ++j) {
        const bool has_row = i - j >= 0 && i - j < scheme.extent;
        logits.push_back(has_row ? 1.0 - static_cast<double>(i - j) / static_cast<double>(scheme.extent) : 0.0);
      }
    }
    drawn_.inputs.bias = table(std::move(logits), {drawn_.queries, drawn_.keys});
  }
  // ln f by token: a gate of 0.99 takes 0.01 from the scores of all keys before it, one of 0.2 takes 1.6.
  void operator()(const ForgetGate&) {
    constexpr double kKeeps = 0.99;  // of a token in general
    constexpr double kForgets = 0.2;
    std::vector<double> gates;
    for (std::int64_t j = 0; j < drawn_.keys; ++j) {
      gates.insert(gates.end(), static_cast<std::size_t>(heads()),
                   std::log(j > 0 && j % numbers_.every == 0 ? kForgets : kKeeps));
    }
    drawn_.inputs.log_forget = table(std::move(gates), {drawn_.keys, heads()});
    give(std::monostate{}, kAdded);
    out_.detail += formatted("; gates of {}, at every {}th token of {}", kKeeps, numbers_.every, kForgets);
  }

 private:
  std::int64_t heads() const { return drawn_.layer.heads; }
  std::int64_t channels() const { return drawn_.layer.head_dim; }
  ConstTensorView table(std::vector<double> values, std::initializer_list<std::int64_t> shape) {
    return drawn_.tables.add(std::move(values), shape);
  }
  // y = x for every output of one input.
  Linear same(std::int64_t outputs) {
    return {.weight = table(repeated(1.0, outputs), {outputs, 1}), .bias = table(repeated(0.0, outputs), {outputs})};
  }
  void ask_with_ones() { drawn_.q = repeated(1.0, drawn_.queries * heads() * channels()); }
  // Positions of two axes, [2, tokens], row by row: a token sees all of its window. Takes the place of the tokens asked
  // for.
  void over_grid(std::int64_t rows, std::int64_t columns) {
    out_.over_grid = true;
    drawn_.queries = drawn_.keys = rows * columns;
    drawn_.layer.mask.kind = MaskKind::bidirectional;
    std::vector<double> coordinates;
    for (std::int64_t row = 0; row < rows; ++row) {
      coordinates.insert(coordinates.end(), static_cast<std::size_t>(columns), static_cast<double>(row));
    }
    for (std::int64_t n = 0; n < rows * columns; ++n) coordinates.push_back(static_cast<double>(n % columns));
    drawn_.inputs.q_positions = drawn_.inputs.k_positions = drawn_.tables.keep(std::move(coordinates));
  }
  // v = W r(asked): what a head would learn that asks for the key at that distance, whatever it says.
  TransformerXlWeights asking(SinusoidConvention convention) {
    drawn_.layer.head_dim = kSines;
    std::vector<double> identity = repeated(0.0, kSines * kSines);
    for (std::int64_t c = 0; c < kSines; ++c) identity[static_cast<std::size_t>(c * kSines + c)] = 1.0;
    return {.projection = table(std::move(identity), {kSines, kSines}),
            .position_bias = table(asked_row(convention), {1, kSines})};
  }
  std::vector<double> asked_row(SinusoidConvention convention) const {
    return input_row(SinusoidalInput{.convention = convention}, kSines, static_cast<double>(numbers_.asks));
  }
  // The weights of the layer's one term, and what the numbers are.
  template <typename Weights>
  void give(Weights weights, std::string_view value) {
    drawn_.weights.score = {std::move(weights)};
    out_.value = value;
    out_.whole_numbers = value == kRow;
  }

  const DrawnTerm& numbers_;
  TermPicture& out_;
  DrawnLayer& drawn_;
};

// Terms of content whose learned parts are drawn alike in every head: one head stands for all of a model's.
bool is_alike_in_all_heads(const ScoreTerm& term) {
  return std::holds_alternative<TransformerXl>(term) || std::holds_alternative<XlNet>(term) ||
         std::holds_alternative<Deberta>(term) || std::holds_alternative<ContextualPosition>(term);
}

}  // namespace

TermPicture term_picture(const DrawnTerm& term, std::int64_t queries, std::int64_t keys, MaskKind mask) {
  TermPicture out;
  // No rotation, and a softmax scale of 1 (LayerPlan's default): a score is the term.
  out.detail = score_text(term.term);
  out.drawn.queries = queries;
  out.drawn.keys = keys;
  out.one_head = is_alike_in_all_heads(term.term);
  const std::int64_t heads = out.one_head ? 1 : term.heads;
  out.drawn.layer = {
      .heads = heads, .kv_heads = heads, .head_dim = 1, .value_dim = 1, .mask = {.kind = mask}, .score = {term.term}};
  std::visit(Preparing(term, out), term.term);
  return out;
}

}  // namespace posenc::tool
