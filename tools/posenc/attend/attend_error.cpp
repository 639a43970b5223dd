// Judges attend's output by the float64 reference and the bound of attend_bound.cpp, for some queries of each sequence.
#include "attend/attend_error.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "attend/attend_bound.h"
#include "posenc/reference_attend.h"
#include "tensors/spacing.h"

namespace posenc::tool {
namespace {

// Scores of a stage that are held at once, in doubles: 32 MiB, for weights, content and biased each.
constexpr std::int64_t kScores = std::int64_t{1} << 22;  // that the reference gives, at most
// ---- the truth ----

// Some queries of a call by the reference.
struct AttendTruth {
  EveryNth which;
  std::vector<double> out;      // [batch, heads, count, value_dim]
  std::vector<double> weights;  // [batch, heads, count, keys]
  // Scores, likewise, before and behind the terms; empty of a layer without terms.
  std::vector<double> content;
  std::vector<double> biased;
};

// The reference runs once for the output and its weights, and, where terms are added, twice more for the scores before
// and behind them.
AttendTruth truth_of(const AttendCall& call, std::int64_t products) {
  const LayerPlan& layer = call.layer;
  AttendTruth out{.which = sample_of(call, products)};
  const std::int64_t count = out.which.count;
  const std::int64_t rows = call.batch() * layer.heads * count;
  const bool is_batch = call.q.rank == 4;
  out.out.resize(static_cast<std::size_t>(rows * layer.value_dim));
  TensorView view = tensor(out.out.data(), {call.batch(), layer.heads, count, layer.value_dim});
  if (!is_batch) view = transposed(tensor(out.out.data(), {layer.heads, count, layer.value_dim}), 0, 1);
  const QueryInputs inputs(call, out.which);
  reference::AttendArgs args{.out = view,
                             .q = some_tokens(call.q, is_batch ? 2 : 0, out.which),
                             .k = call.k,
                             .v = call.v,
                             .weights = call.tables.weights,
                             .inputs = inputs.inputs()};
  // Each run writes the output too: the same each time.
  const auto attend = [&](reference::ScoreStage stage, std::vector<double>& scores) {
    scores.resize(static_cast<std::size_t>(rows * call.keys()));
    args.stage = stage;
    args.scores = tensor(scores.data(), {call.batch(), layer.heads, count, call.keys()});
    if (!is_batch) args.scores = tensor(scores.data(), {layer.heads, count, call.keys()});
    (void)reference::attend(layer, args);
  };
  (void)attend(reference::ScoreStage::weights, out.weights);
  if (layer.score.empty()) return out;
  (void)attend(reference::ScoreStage::content, out.content);
  (void)attend(reference::ScoreStage::biased, out.biased);
  return out;
}

double length_of_query(const AttendCall& call, const Row& row, std::int64_t head) {
  double squares = 0.0;
  for (std::int64_t c = 0; c < call.layer.head_dim; ++c) {
    squares += std::pow(head_element(call.q, row.sequence, row.token, head, c), 2);
  }
  return std::sqrt(squares);
}

// Row n of a head, of numbers [batch, heads, count, width], or nothing of none.
std::span<const double> error_row(const std::vector<double>& x, std::size_t row, std::int64_t width) {
  if (x.empty()) return {};
  const auto w = static_cast<std::size_t>(width);
  return std::span(x).subspan(row * w, w);
}

// The least weight of a key that counts as seen, with some bits to spare: a float's, 2^-126; beside ALiBi, whose far
// tiles are left out, 2^-25.
double least_weight(const AttendCall& call) {
  const bool leaves_out =
      std::ranges::any_of(call.layer.score, [](const ScoreTerm& term) { return std::holds_alternative<Alibi>(term); });
  return leaves_out ? 0x1p-20 : 0x1p-120;
}

// Whether a key that the row attends to is NaN in its score, or non-finite in that channel of its value. Of rotated
// values, whose channels mix, this is not asked.
bool meets_non_finite(const AttendCall& call, const JudgedRow& row, const KeyHead& keys, std::size_t channel) {
  const double least = least_weight(call);
  const bool has_values = !std::holds_alternative<RotatedValues>(call.layer.value);
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    if (std::isnan(row.weights[j])) return true;
    const bool is_seen = has_values && row.weights[j] >= least;
    if (is_seen && !std::isfinite(keys.values[j * row.out.size() + channel])) return true;
  }
  return false;
}

}  // namespace

// No more than kScores scores besides. One query of every sequence and head takes `products`.
EveryNth sample_of(const AttendCall& call, std::int64_t products) {
  const std::int64_t scores = std::max<std::int64_t>(1, call.batch() * call.layer.heads * call.keys());
  const std::int64_t of_one = scores * (call.layer.head_dim + call.layer.value_dim);
  const std::int64_t most = std::max<std::int64_t>(1, std::min(products / of_one, kScores / scores));
  const std::int64_t queries = call.queries();
  const std::int64_t step = (queries + most - 1) / most;
  if (queries == 0) return {};
  return {.first = (queries - 1) % step, .step = step, .count = (queries - 1) / step + 1};
}

// Where the reference is non-finite because of a key that is seen, a finite output is wrong. And what the reference
// computes from finite numbers, in double, must not be lost to a float's range.
void hold(AttendError& worst, const JudgedElement& one, DType stored, const std::function<bool()>& meets_non_finite) {
  double error = std::abs(one.is - one.expected);
  double allowed = one.allowed;
  if (!std::isfinite(one.expected) || !std::isfinite(allowed)) {
    ++worst.not_finite;
    const bool is_lost = std::isfinite(one.expected) && !std::isfinite(one.is);
    const bool is_missed = std::isfinite(one.is) && meets_non_finite();
    if (!is_lost && !is_missed) return;
    error = HUGE_VAL;
  }
  // Stored in 16 bits it is rounded once more.
  if (stored != DType::f32) allowed += 0.5 * ulp(stored, std::abs(one.expected) + allowed);
  const double over = error == 0.0 ? 0.0 : std::isfinite(error) ? error / allowed : HUGE_VAL;
  worst.largest = std::max(worst.largest, error);
  if (over <= worst.over_bound) return;
  worst = {.largest = worst.largest,
           .over_bound = over,
           .bound = allowed,
           .row = one.row,
           .head = one.head,
           .channel = one.channel,
           .tokens = worst.tokens,
           .not_finite = worst.not_finite};
}

AttendError judge(const AttendCall& call, const ConstTensorView& out, std::int64_t products) {
  const AttendBound bound(call);
  const AttendTruth truth = truth_of(call, products);
  const LayerPlan& layer = call.layer;
  AttendError worst{.tokens = call.batch() * truth.which.count};
  for (std::int64_t b = 0; b < call.batch(); ++b) {
    KeyHead keys;  // of the group that h is in
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      const std::int64_t group = layer.heads / layer.kv_heads;
      if (h % group == 0) keys = key_head(call, b, h / group);
      for (std::int64_t n = 0; n < truth.which.count; ++n) {
        const Row row{b, truth.which.first + n * truth.which.step};
        const auto at = static_cast<std::size_t>((b * layer.heads + h) * truth.which.count + n);
        const JudgedRow judged{.length = length_of_query(call, row, h),
                               .place = call.q_positions
                                            ? first_coordinate(*call.q_positions, row)
                                            : static_cast<double>(call.keys() - call.queries() + row.token),
                               .weights = error_row(truth.weights, at, call.keys()),
                               .out = error_row(truth.out, at, layer.value_dim),
                               .content = error_row(truth.content, at, call.keys()),
                               .biased = error_row(truth.biased, at, call.keys())};
        const std::vector<double> bounds = bound.output(judged, keys);
        for (std::int64_t c = 0; c < layer.value_dim; ++c) {
          const auto channel = static_cast<std::size_t>(c);
          hold(worst,
               {.row = row,
                .head = h,
                .channel = c,
                .is = head_element(out, b, row.token, h, c),
                .expected = judged.out[channel],
                .allowed = bounds[channel]},
               out.dtype, [&] { return meets_non_finite(call, judged, keys, channel); });
        }
      }
    }
  }
  return worst;
}

}  // namespace posenc::tool
