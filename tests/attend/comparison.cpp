#include "attend/comparison.h"

#include <cmath>

#include "support/tolerances.h"

namespace posenc::test {

namespace {

// A NaN counts as the largest.
void raise(double& largest, double observed, double bound) {
  const double ratio = observed == 0.0 ? 0.0 : observed / bound;
  if (!(ratio <= largest)) largest = ratio;
}

}  // namespace

double value_error(const Values& values) { return 2 * values.error * kDoubleRounding * values.largest; }

Apartness apartness(const SchemeCall& call, const math::Lowered& lowered, const SchemeCall::Result& is,
                    const SchemeCall::Result& wanted, double more_roundings) {
  const auto keys = static_cast<double>(call.sizes.keys);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  const LoweredSizes sizes(lowered, call, kRotatedTwice);
  Apartness most;
  for (std::size_t row = 0; row < is.lse.size(); ++row) {
    const ScoreSize size = sizes.score(row);
    const double score = same_score(size.size, size.roundings + more_roundings);
    for (std::size_t c = 0; c < width; ++c) {
      const Values values = sizes.values(row, c);
      const double difference = std::abs(is.out[row * width + c] - wanted.out[row * width + c]);
      raise(most.out, difference, same_output(score, values.half_range, keys, values.largest, value_error(values)));
      raise(most.of_values, difference, values.largest);
    }
    if (is.lse[row] == wanted.lse[row]) continue;  // -inf, too
    raise(most.lse, std::abs(is.lse[row] - wanted.lse[row]), same_lse(score, keys, wanted.lse[row]));
  }
  return most;
}

}  // namespace posenc::test
