// Llama 3.1's rule: interpolation by wavelength. Published as code with Llama 3.1; the report is arXiv 2407.21783.
//
//   w = 2 pi / inv_freq;  fast = L / high_freq_factor;  slow = L / low_freq_factor
//   w > slow: inv_freq / factor      w < fast: inv_freq
//   else t = (L / w - low_freq_factor) / (high_freq_factor - low_freq_factor): ((1 - t) / factor + t) * inv_freq
//   L: original_max_position_embeddings
//
// Llama 4 Scout ships low_freq_factor == high_freq_factor. Then nothing lies between, and the piecewise order above is
// defined where FlashInfer's clamp form divides by zero; a wavelength that equals the one bound stays as it is (Hugging
// Face: NaN). llama.cpp stores the divisors in the GGUF as `rope_freqs.weight`: factor_list.cpp.
#include <numbers>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/real.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {

template <typename Real>
Scaled<Real> scale(const Rope& rope, const Llama3Scaling& rule, Length) {
  const auto trained = static_cast<double>(rule.original_max_position_embeddings);
  const Real one = real<Real>(1.0);
  const Real factor = real<Real>(rule.factor);
  const Real slow = real<Real>(trained / rule.low_freq_factor);
  const Real fast = real<Real>(trained / rule.high_freq_factor);
  const Real low = real<Real>(rule.low_freq_factor);
  const Real span = real<Real>(rule.high_freq_factor - rule.low_freq_factor);
  std::vector<Real> inv_freq = default_inv_freq<Real>(rope, rope.base);
  for (Real& value : inv_freq) {
    const Real wavelength = real<Real>(2 * std::numbers::pi) / value;
    if (wavelength > slow) {
      value /= factor;
    } else if (wavelength >= fast && span > 0) {
      const Real t = (real<Real>(trained) / wavelength - low) / span;
      value = (one - t) * value / factor + t * value;
    }
  }
  return {std::move(inv_freq)};
}

std::optional<Problem> check_rule(const Rope&, const Llama3Scaling& rule) {
  if (auto problem = check_above_zero("factor", rule.factor)) return problem;
  if (auto problem = check_above_zero("low_freq_factor", rule.low_freq_factor)) return problem;
  if (auto problem = check_above_zero("high_freq_factor", rule.high_freq_factor)) return problem;
  if (rule.high_freq_factor < rule.low_freq_factor) {
    return Problem{"high_freq_factor", formatted("be at least low_freq_factor, {},", rule.low_freq_factor),
                   formatted("{}", rule.high_freq_factor)};
  }
  return check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings, 1);
}

template Scaled<double> scale(const Rope&, const Llama3Scaling&, Length);
template Scaled<float> scale(const Rope&, const Llama3Scaling&, Length);

}  // namespace posenc::math
