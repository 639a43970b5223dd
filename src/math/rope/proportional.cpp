// p-RoPE: the slowest pairs do not rotate at all. arXiv 2410.06205; Gemma 4's full-attention layers.
//
//   n = floor(partial_rotary_factor * dim / 2)
//   inv_freq[p] = base^(-2p/dim) / factor for p < n, else 0
//
// It is not partial rotation, with which it is often confused: there dim shrinks, and with it the exponents and, for
// Pairing::half, the distance of the two channels. Here dim is the whole head; anything else is refused.
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/real.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {

std::int64_t rotated_pairs(const Rope& rope, const ProportionalScaling& rule) {
  return static_cast<std::int64_t>(std::floor(rule.partial_rotary_factor * static_cast<double>(rope.dim) / 2));
}

template <typename Real>
Scaled<Real> scale(const Rope& rope, const ProportionalScaling& rule, Length) {
  const auto rotating = static_cast<std::size_t>(rotated_pairs(rope, rule));
  std::vector<Real> inv_freq = default_inv_freq<Real>(rope, rope.base);
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    inv_freq[p] = p < rotating ? inv_freq[p] / real<Real>(rule.factor) : real<Real>(0.0);
  }
  return {std::move(inv_freq)};
}

std::optional<Problem> check_rule(const Rope& rope, const ProportionalScaling& rule) {
  if (auto problem = check_shared_frequencies(rope, "proportional scaling")) return problem;
  if (rope.dim != rope.head_dim) {
    return Problem{"dim", formatted("be head_dim, {}, for proportional scaling", rope.head_dim),
                   formatted("{}", rope.dim)};
  }
  if (!(rule.partial_rotary_factor >= 0 && rule.partial_rotary_factor <= 1)) {
    return Problem{"partial_rotary_factor", "lie from 0 to 1", formatted("{}", rule.partial_rotary_factor)};
  }
  return check_above_zero("factor", rule.factor);
}

template Scaled<double> scale(const Rope&, const ProportionalScaling&, Length);
template Scaled<float> scale(const Rope&, const ProportionalScaling&, Length);

}  // namespace posenc::math
