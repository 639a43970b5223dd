// angle_error() of posenc/wavelength.h: how far cos and sin in the float arithmetic of a framework are from the exact
// ones at the end of a context. Hugging Face's f32 product position * inv_freq loses bits as positions grow.
#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/rotary_table.h"
#include "posenc/wavelength.h"

namespace posenc::inline v0_2 {

// Two tables of the last `count` positions before `end`, one exact, compared float by float. A row has cos and sin of
// all pairs: 2 pairs floats.
AngleError angle_error(const Rope& rope, Angles angles, std::int64_t end, std::int64_t count,
                       std::optional<std::int64_t> length) {
  if (end < 1) throw Error("angle_error", {"end", "be at least 1", formatted("{}", end)});
  if (count < 1) throw Error("angle_error", {"count", "be at least 1", formatted("{}", count)});
  TableOptions options{.length = length};
  options.count = std::min(count, end);
  options.start = end - options.count;
  const RotaryTable exact = make_table(rope, options);
  options.angles = angles;
  const RotaryTable rounded = make_table(rope, options);

  AngleError out{.position = options.start};
  const auto pairs = static_cast<std::size_t>(exact.pairs());
  for (std::size_t i = 0; i < exact.rows().size(); ++i) {
    const double difference = std::abs(static_cast<double>(rounded.rows()[i]) - static_cast<double>(exact.rows()[i]));
    if (difference <= out.largest) continue;
    out = {difference, options.start + static_cast<std::int64_t>(i / (2 * pairs)),
           static_cast<std::int64_t>(i % pairs)};
  }
  return out;
}

}  // namespace posenc::inline v0_2
