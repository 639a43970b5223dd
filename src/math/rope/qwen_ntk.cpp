// Qwen 1's dynamic NTK: the stretch doubles with the length, in steps. Qwen technical report, arXiv 2309.16609.
//
//   base' = base * alpha^(dim/(dim-2))      alpha = max(2^ceil(log2(length/seq_length) + 1) - 1, 1)
//
// So alpha is 1 up to seq_length, 3 up to twice that, 7 up to four times, ... The ceiling is taken on integers here;
// Qwen's remote code takes it on Python's log(x, 2), which is above the integer for ratios of 2^29.
// TeleChat's remote code has the same alpha and multiplies cos and sin by 0.1 ln(length/seq_length) + 1 besides, which
// this rule does not.
#include <bit>
#include <cmath>
#include <cstdint>

#include "math/check/parameter_checks.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/ntk.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {
namespace {

double qwen_alpha(std::int64_t length, std::int64_t trained) {
  if (length <= trained) return 1;
  const auto ratio = static_cast<std::uint64_t>((length - 1) / trained + 1);  // rounded up, at least 2
  const auto doublings = static_cast<int>(std::bit_width(ratio - 1));         // ceil(log2(ratio))
  return std::ldexp(1.0, doublings + 1) - 1;
}

}  // namespace

template <typename Real>
Scaled<Real> scale(const Rope& rope, const QwenNtkScaling& rule, Length length) {
  const double alpha = qwen_alpha(length.value_or(rule.seq_length), rule.seq_length);
  return {default_inv_freq<Real>(rope, ntk_base(rope, alpha))};
}

std::optional<Problem> check_rule(const Rope& rope, const QwenNtkScaling& rule) {
  if (auto problem = check_ntk(rope, "Qwen's NTK scaling")) return problem;
  return check_at_least("seq_length", rule.seq_length, 1);
}

template Scaled<double> scale(const Rope&, const QwenNtkScaling&, Length);
template Scaled<float> scale(const Rope&, const QwenNtkScaling&, Length);

}  // namespace posenc::math
