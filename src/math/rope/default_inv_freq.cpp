// inv_freq[p] = base^(-2p/dim), the frequencies before any scaling rule; RoFormer, arXiv 2104.09864, (15). The header
// has the variants for several axes. The float steps are those of Hugging Face: exponent, power, reciprocal.
#include "math/rope/default_inv_freq.h"

#include <cstddef>
#include <cstdint>

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

}  // namespace

template <typename Real>
std::vector<Real> powers(const Rope& rope, double base) {
  std::vector<Real> result;
  result.reserve(static_cast<std::size_t>(rope.pairs()));
  for (const Rung& rung : rungs(rope)) {
    const Real exponent = real<Real>(2 * rung.step) / real<Real>(rung.span);
    result.push_back(power(real<Real>(base), exponent));
  }
  return result;
}

template <typename Real>
std::vector<Real> default_inv_freq(const Rope& rope, double base) {
  std::vector<Real> result = powers<Real>(rope, base);
  for (Real& value : result) value = real<Real>(1.0) / value;
  return result;
}

template <typename Real>
Scaled<Real> scale(const Rope& rope, std::monostate, Length) {
  return {default_inv_freq<Real>(rope, rope.base)};
}

std::optional<Problem> check_rule(const Rope&, std::monostate) { return {}; }

template std::vector<double> powers(const Rope&, double);
template std::vector<float> powers(const Rope&, double);
template std::vector<double> default_inv_freq(const Rope&, double);
template std::vector<float> default_inv_freq(const Rope&, double);
template Scaled<double> scale(const Rope&, std::monostate, Length);
template Scaled<float> scale(const Rope&, std::monostate, Length);

}  // namespace posenc::math
