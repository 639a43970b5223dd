// Dynamic NTK: the stretch grows with the sequence. arXiv 2309.00071.
//
//   base' = base * (factor * n/max - (factor - 1))^(dim/(dim-2))      n = max(length, max)
//
// max is the trained length, `max_position_embeddings`; `original_max_position_embeddings` is not part of this rule.
// The bracket is written 1 + factor * (n - max)/max, which is the same number without the cancellation, and exactly 1
// up to the trained length.
//
// In the wild: Hugging Face rotates new keys with the new base and leaves cached ones at the old (issue 25104); a
// running Hugging Face model computes base' in float, because its length is a tensor there, while the function asked
// with an integer computes it in double: this follows the function. vLLM makes one table at start-up, until 2026 for
// max * factor tokens, since then for the trained length, which leaves the base alone.
#include <algorithm>

#include "math/check/parameter_checks.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/ntk.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {

template <typename Real>
Scaled<Real> scale(const Rope& rope, const DynamicScaling& rule, Length length) {
  const std::int64_t trained = rule.max_position_embeddings;
  const std::int64_t beyond = std::max(length.value_or(trained), trained) - trained;
  const double stretch = 1 + rule.factor * (static_cast<double>(beyond) / static_cast<double>(trained));
  return {default_inv_freq<Real>(rope, ntk_base(rope, stretch))};
}

std::optional<Problem> check_rule(const Rope& rope, const DynamicScaling& rule) {
  if (auto problem = check_ntk(rope, "dynamic NTK scaling")) return problem;
  if (auto problem = check_above_zero("factor", rule.factor)) return problem;
  return check_at_least("max_position_embeddings", rule.max_position_embeddings, 1);
}

template Scaled<double> scale(const Rope&, const DynamicScaling&, Length);
template Scaled<float> scale(const Rope&, const DynamicScaling&, Length);

}  // namespace posenc::math
