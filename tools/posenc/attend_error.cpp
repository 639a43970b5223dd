#include "attend_error.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "attend_bound.h"
#include "posenc/reference_attend.h"
#include "spacing.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kScores = std::int64_t{1} << 22;  // that the reference gives, at most
// ---- the truth ----

// Some queries of a call by the reference.
struct Truth {
  EveryNth which;
  std::vector<double> out;   // [batch, heads, count, value_dim], or [count, heads, value_dim]
  std::vector<double> seen;  // [batch, heads, count]: the sum of the largest scores before and behind the biases
  TensorView view{};         // of out
};

EveryNth sample_of(const AttendCall& call, std::int64_t affordable) {
  const std::int64_t scores = std::max<std::int64_t>(1, call.batch() * call.layer.heads * call.keys());
  const std::int64_t products = scores * (call.layer.head_dim + call.layer.value_dim);
  const std::int64_t most = std::max<std::int64_t>(1, std::min(affordable / products, kScores / scores));
  const std::int64_t queries = call.queries();
  const std::int64_t step = (queries + most - 1) / most;
  if (queries == 0) return {};
  return {.first = (queries - 1) % step, .step = step, .count = (queries - 1) / step + 1};
}

// The largest finite scores of each row.
void add_largest(const std::vector<double>& scores, std::int64_t keys, std::vector<double>& to) {
  for (std::size_t row = 0; row < to.size(); ++row) {
    double largest = 0.0;
    for (const double score : std::span(scores).subspan(row * static_cast<std::size_t>(keys)).first(keys)) {
      if (std::isfinite(score)) largest = std::max(largest, std::abs(score));
    }
    to[row] += largest;
  }
}

Truth truth_of(const AttendCall& call, std::int64_t products) {
  const LayerPlan& layer = call.layer;
  Truth out{.which = sample_of(call, products)};
  const std::int64_t count = out.which.count;
  const std::int64_t rows = call.batch() * layer.heads * count;
  const bool is_batch = call.q.rank == 4;
  out.out.resize(static_cast<std::size_t>(rows * layer.value_dim));
  out.seen.resize(static_cast<std::size_t>(rows));
  if (is_batch) {
    out.view = tensor(out.out.data(), {call.batch(), layer.heads, count, layer.value_dim});
  } else {
    out.view = tensor(out.out.data(), {count, layer.heads, layer.value_dim});
  }
  const QueryInputs inputs(call, out.which);
  reference::AttendArgs args{.out = out.view,
                             .q = some_tokens(call.q, is_batch ? 2 : 0, out.which),
                             .k = call.k,
                             .v = call.v,
                             .weights = call.tables.weights,
                             .inputs = inputs.inputs()};
  if (layer.score.empty()) {
    reference::attend(layer, args);
    return out;
  }
  std::vector<double> scores(static_cast<std::size_t>(rows * call.keys()));
  if (is_batch) {
    args.scores = tensor(scores.data(), {call.batch(), layer.heads, count, call.keys()});
  } else {
    args.scores = tensor(scores.data(), {layer.heads, count, call.keys()});
  }
  for (const auto stage : {reference::ScoreStage::content, reference::ScoreStage::biased}) {
    args.stage = stage;
    reference::attend(layer, args);
    add_largest(scores, call.keys(), out.seen);
  }
  return out;
}

std::int64_t position_of(const AttendCall& call, const Row& row) {
  if (!call.q_positions) return call.keys() - call.queries() + row.token;
  const RowPositions::List list = call.q_positions->of({row});
  return std::visit([](const auto& x) { return static_cast<std::int64_t>(x.front()); }, list);
}

double length_of_query(const AttendCall& call, const Row& row, std::int64_t head) {
  double squares = 0.0;
  for (std::int64_t c = 0; c < call.layer.head_dim; ++c) {
    squares += std::pow(head_element(call.q, row.sequence, row.token, head, c), 2);
  }
  return std::sqrt(squares);
}

}  // namespace

AttendError judge(const AttendCall& call, const ConstTensorView& out, std::int64_t products) {
  const AttendBound bound(call);
  const Truth truth = truth_of(call, products);
  const LayerPlan& layer = call.layer;
  AttendError worst{.tokens = call.batch() * truth.which.count};
  for (std::int64_t b = 0; b < call.batch(); ++b) {
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      const KeyHead keys = key_head(call, b, h * layer.kv_heads / layer.heads);
      for (std::int64_t n = 0; n < truth.which.count; ++n) {
        const Row row{b, truth.which.first + n * truth.which.step};
        const double seen = truth.seen[static_cast<std::size_t>((b * layer.heads + h) * truth.which.count + n)];
        const QueryHead query{length_of_query(call, row, h), position_of(call, row), seen};
        const double score = bound.score(query, keys.longest_key);
        for (std::int64_t c = 0; c < layer.value_dim; ++c) {
          const double expected = head_element(truth.view, b, n, h, c);
          const double error = std::abs(head_element(out, b, row.token, h, c) - expected);
          double allowed = bound.output(score, keys, static_cast<std::size_t>(c));
          if (!std::isfinite(expected) || !std::isfinite(allowed)) {
            ++worst.not_finite;
            continue;
          }
          if (out.dtype != DType::f32) allowed += 0.5 * ulp(out.dtype, std::abs(expected) + allowed);
          const double over = error == 0.0 ? 0.0 : std::isfinite(error) ? error / allowed : HUGE_VAL;
          worst.largest = std::max(worst.largest, error);
          if (over <= worst.over_bound) continue;
          worst = {.largest = worst.largest,
                   .over_bound = over,
                   .bound = allowed,
                   .row = row,
                   .head = h,
                   .channel = c,
                   .tokens = worst.tokens,
                   .not_finite = worst.not_finite};
        }
      }
    }
  }
  return worst;
}

}  // namespace posenc::tool
