#include "diagnose/planned_rotation.h"

#include <cmath>

#include "diagnose/channel_pairs.h"

namespace posenc::inline v0_2::port {

std::vector<double> rotated_as_planned(const Samples& samples, std::vector<double> values, const Expectation& expected,
                                       Way way) {
  const Rope& rope = *expected.rope;
  const Frequencies f = frequencies(rope, expected.length);
  const ChannelPairs pairs = channel_pairs(rope.pairing, rope.pairing, rope.first_channel, rope.dim);
  const double factor = way == Way::forth ? f.attention_factor : 1 / f.attention_factor;
  for (std::int64_t r = 0; r < samples.rows(); ++r) {
    for (std::size_t p = 0; p < pairs.pairs(); ++p) {
      const auto [a, b] = pairs.from[p];
      const std::size_t axis = rope.axes.of_pair.empty() ? 0 : static_cast<std::size_t>(rope.axes.of_pair[p]);
      const double angle = expected.axes[axis][static_cast<std::size_t>(r)] * f.inv_freq[p];
      const double cos = factor * std::cos(angle);
      const double sin = factor * (way == Way::forth ? std::sin(angle) : -std::sin(angle));
      for (std::int64_t h = 0; h < samples.heads; ++h) {
        double* const at = values.data() + (r * samples.heads + h) * samples.channels;
        const double x = at[a];
        at[a] = x * cos - at[b] * sin;
        at[b] = x * sin + at[b] * cos;
      }
    }
  }
  return values;
}

}  // namespace posenc::inline v0_2::port
