// Static NTK: one stretch for all lengths.
//
//   base' = base * alpha^(dim/(dim-2))
//
// Hunyuan (arXiv 2411.02265) ships it as {"type": "dynamic", "alpha": 1000.0}; the factor, betas and mscales beside
// alpha are not read there, nor here. vLLM's `ntk` type is another rule: base * factor with frequencies divided by
// factor^(2/dim).
#include "math/rope/ntk.h"

#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/elementary.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {

double ntk_base(const Rope& rope, double stretch) {
  const auto dim = static_cast<double>(rope.dim);
  return rope.base * power(stretch, dim / (dim - 2));
}

std::optional<Problem> check_ntk(const Rope& rope, std::string_view rule) {
  if (rope.dim == 2) {
    return Problem{"dim", formatted("be above 2 for {}, which divides by dim - 2,", rule), "2"};
  }
  return check_shared_frequencies(rope, rule);
}

template <typename Real>
Scaled<Real> scale(const Rope& rope, const NtkScaling& rule, Length) {
  return {default_inv_freq<Real>(rope, ntk_base(rope, rule.alpha))};
}

std::optional<Problem> check_rule(const Rope& rope, const NtkScaling& rule) {
  if (auto problem = check_ntk(rope, "NTK scaling")) return problem;
  if (auto problem = check_above_zero("alpha", rule.alpha)) return problem;
  const double base = ntk_base(rope, rule.alpha);
  if (std::isfinite(base) && base >= 1) return {};
  return Problem{"alpha", "leave the base finite and at least 1",
                 formatted("{}: base * alpha^(dim/(dim-2)) = {} * {}^({}/{}) = {}", rule.alpha, rope.base, rule.alpha,
                           rope.dim, rope.dim - 2, base)};
}

template Scaled<double> scale(const Rope&, const NtkScaling&, Length);
template Scaled<float> scale(const Rope&, const NtkScaling&, Length);

}  // namespace posenc::math
