// inv_freq[p] = base^(-2p/dim), the frequencies before any scaling rule; RoFormer, arXiv 2104.09864, (15). The header
// has the variants for several axes. In double it is that real number, rounded once (elementary.h), on every processor.
// The float steps are those of Hugging Face: exponent, power, reciprocal.
#include "math/rope/default_inv_freq.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "math/elementary.h"
#include "math/real.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {
namespace {

// The exponent of a pair is 2 * step / span.
struct Rung {
  std::int64_t step;
  std::int64_t span;
};

// [dim/2]
std::vector<Rung> rungs(const Rope& rope) {
  const auto axes = static_cast<std::int64_t>(rope.axes.names.size());
  std::vector<std::int64_t> placed(rope.axes.names.size());  // pairs of each axis so far
  std::vector<Rung> result;
  result.reserve(static_cast<std::size_t>(rope.pairs()));
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const std::int64_t axis = rope.axes.of_pair.empty() ? 0 : rope.axes.of_pair[static_cast<std::size_t>(p)];
    const std::int64_t place = placed[static_cast<std::size_t>(axis)]++;
    switch (rope.axis_frequencies) {
      case AxisFrequencies::per_axis: result.push_back({place, rope.dim / axes}); break;
      case AxisFrequencies::strided: result.push_back({place * axes + axis, rope.dim}); break;
      case AxisFrequencies::shared: result.push_back({p, rope.dim}); break;
    }
  }
  return result;
}

// base^(sign * 2 step / span) for each pair. [dim/2]
std::vector<double> exact_powers(const Rope& rope, double base, int sign) {
  const std::vector<Rung> all = rungs(rope);
  // All rungs have one span. A base that a rule made infinite has no powers; what comes of NaN is refused.
  if (!std::isfinite(base)) return std::vector<double>(all.size(), std::numeric_limits<double>::quiet_NaN());
  std::int64_t most = 0;
  for (const Rung& rung : all) most = std::max(most, rung.step);
  const std::vector<double> sequence =
      power_sequence(base, sign * 2.0, static_cast<double>(all.front().span), most + 1);
  std::vector<double> result;
  result.reserve(all.size());
  for (const Rung& rung : all) result.push_back(sequence[static_cast<std::size_t>(rung.step)]);
  return result;
}

std::vector<float> float_powers(const Rope& rope, double base) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(rope.pairs()));
  for (const Rung& rung : rungs(rope)) {
    const float exponent = real<float>(2 * rung.step) / real<float>(rung.span);
    result.push_back(power(real<float>(base), exponent));
  }
  return result;
}

}  // namespace

template <>
std::vector<double> powers(const Rope& rope, double base) {
  return exact_powers(rope, base, 1);
}

template <>
std::vector<float> powers(const Rope& rope, double base) {
  return float_powers(rope, base);
}

template <>
std::vector<double> default_inv_freq(const Rope& rope, double base) {
  return exact_powers(rope, base, -1);
}

template <>
std::vector<float> default_inv_freq(const Rope& rope, double base) {
  std::vector<float> result = float_powers(rope, base);
  for (float& value : result) value = 1.0F / value;
  return result;
}

template <typename Real>
Scaled<Real> scale(const Rope& rope, std::monostate, Length) {
  return {default_inv_freq<Real>(rope, rope.base)};
}

std::optional<Problem> check_rule(const Rope&, std::monostate) { return {}; }

template Scaled<double> scale(const Rope&, std::monostate, Length);
template Scaled<float> scale(const Rope&, std::monostate, Length);

}  // namespace posenc::math
