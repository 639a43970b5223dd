// Position interpolation: positions, and so frequencies, divided by a factor. arXiv 2306.15595.
//
//   inv_freq[p] = base^(-2p/dim) / factor
//
// ggml writes the same as freq_scale = 1 / factor. vLLM also takes a list of factors, one per LoRA adapter: that is
// several schemes, not one.
#include "math/check/parameter_checks.h"
#include "math/real.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {

template <typename Real>
Scaled<Real> scale(const Rope& rope, const LinearScaling& rule, Length) {
  std::vector<Real> inv_freq = default_inv_freq<Real>(rope, rope.base);
  for (Real& value : inv_freq) value /= real<Real>(rule.factor);
  return {std::move(inv_freq)};
}

std::optional<Problem> check_rule(const Rope&, const LinearScaling& rule) {
  return check_above_zero("factor", rule.factor);
}

template Scaled<double> scale(const Rope&, const LinearScaling&, Length);
template Scaled<float> scale(const Rope&, const LinearScaling&, Length);

}  // namespace posenc::math
