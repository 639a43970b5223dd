// One divisor per pair, as GGUF files carry in the tensor `rope_freqs.weight`.
//
//   inv_freq[p] = base^(-2p/dim) / factors[p]
//
// llama.cpp writes Llama 3's rule so at conversion; a divisor of 1e30 stops a pair. There is no Hugging Face order to
// follow in float: the ladder is rounded, then the quotient.
#include "math/check/parameter_checks.h"
#include "math/real.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {

template <typename Real>
Scaled<Real> scale(const Rope& rope, const FactorListScaling& rule, Length) {
  std::vector<Real> inv_freq = default_inv_freq<Real>(rope, rope.base);
  for (std::size_t p = 0; p < inv_freq.size(); ++p) inv_freq[p] /= real<Real>(rule.factors[p]);
  return {std::move(inv_freq)};
}

std::optional<Problem> check_rule(const Rope& rope, const FactorListScaling& rule) {
  return check_divisors(rope, "factors", rule.factors);
}

template Scaled<double> scale(const Rope&, const FactorListScaling&, Length);
template Scaled<float> scale(const Rope&, const FactorListScaling&, Length);

}  // namespace posenc::math
