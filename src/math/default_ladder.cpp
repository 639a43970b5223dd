#include "math/default_ladder.h"

#include <cstddef>
#include <cstdint>

#include "math/real.h"
#include "math/scaling_rules.h"

namespace posenc::math {
namespace {

// The exponent of a pair is 2 * step / span.
struct Rung {
  std::int64_t step;
  std::int64_t span;
};

Rung rung_of_pair(const Rope& rope, std::int64_t pair) {
  const auto axes = static_cast<std::int64_t>(rope.axes.names.size());
  const std::int64_t block = rope.pairs() / axes;  // pairs of one axis
  switch (rope.ladder) {
    case Ladder::per_axis: return {pair % block, 2 * block};
    case Ladder::dealt: return {(pair % block) * axes + pair / block, rope.dim};
    case Ladder::shared: break;
  }
  return {pair, rope.dim};
}

}  // namespace

template <typename Real>
std::vector<Real> powers(const Rope& rope, double base) {
  std::vector<Real> result(static_cast<std::size_t>(rope.pairs()));
  for (std::size_t p = 0; p < result.size(); ++p) {
    const Rung rung = rung_of_pair(rope, static_cast<std::int64_t>(p));
    const Real exponent = real<Real>(2 * rung.step) / real<Real>(rung.span);
    result[p] = power(real<Real>(base), exponent);
  }
  return result;
}

template <typename Real>
std::vector<Real> ladder(const Rope& rope, double base) {
  std::vector<Real> result = powers<Real>(rope, base);
  for (Real& value : result) value = real<Real>(1.0) / value;
  return result;
}

template <typename Real>
Scaled<Real> scale(const Rope& rope, std::monostate, Length) {
  return {ladder<Real>(rope, rope.base)};
}

std::optional<Problem> check_rule(const Rope&, std::monostate) { return {}; }

template std::vector<double> powers(const Rope&, double);
template std::vector<float> powers(const Rope&, double);
template std::vector<double> ladder(const Rope&, double);
template std::vector<float> ladder(const Rope&, double);
template Scaled<double> scale(const Rope&, std::monostate, Length);
template Scaled<float> scale(const Rope&, std::monostate, Length);

}  // namespace posenc::math
