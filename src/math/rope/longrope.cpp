// LongRoPE: a searched divisor for each pair, one list for short sequences and one for long. arXiv 2402.13753;
// LongRoPE2 (arXiv 2502.20082) keeps the format.
//
//   inv_freq[p] = 1 / (ext[p] * base^(2p/dim))      ext = long_factor when length > L, else short_factor
//   attention factor: short_mscale or long_mscale, as the list, when given; else attention_factor when given;
//   else sqrt(1 + ln(factor) / ln(L)), 1 for factor <= 1
//   L: original_max_position_embeddings; factor: extended length over L
//
// The switch is strict: a sequence of exactly L tokens (largest position L - 1) is short. Without a length it is short.
//
// In the wild: vLLM picks the list once, by the largest length it will serve, llama.cpp by the context it was opened
// with, mlx-lm always takes the long one; Hugging Face picks it on each forward pass, as here. PhiMoE's class there
// multiplies by its mscales and never by attention_factor, so they win here too; but it asks for its frequencies
// without a length and so keeps the short list beyond L, beside long_mscale: this takes the long list there.
// Divisors below 1 occur.
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/elementary.h"
#include "math/real.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {
namespace {

double attention_factor(const LongRopeScaling& rule, bool is_long) {
  if (rule.short_mscale && rule.long_mscale) return is_long ? *rule.long_mscale : *rule.short_mscale;
  if (rule.attention_factor) return *rule.attention_factor;
  if (rule.factor <= 1) return 1.0;
  return std::sqrt(1 + logarithm(rule.factor) / logarithm(static_cast<double>(rule.original_max_position_embeddings)));
}

}  // namespace

template <typename Real>
Scaled<Real> scale(const Rope& rope, const LongRopeScaling& rule, Length length) {
  const bool is_long = length && *length > rule.original_max_position_embeddings;
  const std::vector<double>& divisors = is_long ? rule.long_factor : rule.short_factor;
  std::vector<Real> inv_freq = powers<Real>(rope, rope.base);
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    inv_freq[p] = real<Real>(1.0) / (real<Real>(divisors[p]) * inv_freq[p]);
  }
  return {std::move(inv_freq), attention_factor(rule, is_long)};
}

std::optional<Problem> check_rule(const Rope& rope, const LongRopeScaling& rule) {
  if (auto problem = check_divisors(rope, "short_factor", rule.short_factor)) return problem;
  if (auto problem = check_divisors(rope, "long_factor", rule.long_factor)) return problem;
  if (rule.original_max_position_embeddings < 2) {
    return Problem{"original_max_position_embeddings", "be at least 2 for LongRoPE, which divides by its logarithm,",
                   formatted("{}", rule.original_max_position_embeddings)};
  }
  if (auto problem = check_above_zero("factor", rule.factor)) return problem;
  if (auto problem = check_not_negative("attention_factor", rule.attention_factor)) return problem;
  if (auto problem = check_not_negative("short_mscale", rule.short_mscale)) return problem;
  if (auto problem = check_not_negative("long_mscale", rule.long_mscale)) return problem;
  if (rule.short_mscale.has_value() == rule.long_mscale.has_value()) return {};
  return Problem{rule.short_mscale ? "long_mscale" : "short_mscale", "be given beside the other of the two", "absent"};
}

template Scaled<double> scale(const Rope&, const LongRopeScaling&, Length);
template Scaled<float> scale(const Rope&, const LongRopeScaling&, Length);

}  // namespace posenc::math
