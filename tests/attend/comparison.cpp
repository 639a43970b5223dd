#include "attend/comparison.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "attend/lowered_size.h"
#include "support/tolerances.h"

namespace posenc::test {

ValueSize value_size(const math::Lowered& lowered, const SchemeCall& call, std::size_t q_row, std::size_t c) {
  const std::vector<double> seen = call.seen_by(q_row, call.v);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  if (std::holds_alternative<math::ValueRotation>(lowered.values)) {
    // Two turns, that of the value and that of the output, each made two ways; a channel may have all of its pair.
    const double turned = longest(seen, call.layer.value_dim);
    return {turned, turned, 2 * (kTurnedTwice + 2) * kDoubleRounding * turned};
  }
  double least = seen[c];
  double most = seen[c];
  for (std::size_t n = c; n < seen.size(); n += width) {
    least = std::min(least, seen[n]);
    most = std::max(most, seen[n]);
  }
  const auto* by_distance = std::get_if<math::ValueDistance>(&lowered.values);
  const double added = by_distance == nullptr ? 0.0 : largest(by_distance->vectors);
  return {std::max(-least, most) + added, (most - least) / 2 + added, 0.0};
}

namespace {

// A NaN counts as the largest.
void raise(double& largest, double observed, double bound) {
  const double ratio = observed == 0.0 ? 0.0 : observed / bound;
  if (!(ratio <= largest)) largest = ratio;
}

}  // namespace

Apartness apartness(const SchemeCall& call, const math::Lowered& lowered, const SchemeCall::Result& is,
                    const SchemeCall::Result& wanted, double more_roundings) {
  const auto keys = static_cast<double>(call.sizes.keys);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  Apartness most;
  for (std::size_t row = 0; row < is.lse.size(); ++row) {
    const ScoreSize size = score_size(lowered, call, row);
    const double score = same_score(size.size, size.roundings + more_roundings);
    for (std::size_t c = 0; c < width; ++c) {
      const ValueSize values = value_size(lowered, call, row, c);
      const double difference = std::abs(is.out[row * width + c] - wanted.out[row * width + c]);
      raise(most.out, difference, same_output(score, values.half_range, keys, values.largest, values.error));
      raise(most.of_values, difference, values.largest);
    }
    if (is.lse[row] == wanted.lse[row]) continue;  // -inf, too
    raise(most.lse, std::abs(is.lse[row] - wanted.lse[row]), same_lse(score, keys, wanted.lse[row]));
  }
  return most;
}

}  // namespace posenc::test
