// YaRN: fast pairs stay, slow pairs are interpolated, a ramp between; and cos and sin grow a little. arXiv 2309.00071.
//
//   c(r)        = dim * ln(L / (2 pi r)) / (2 ln base)      the pair that turns r times within L tokens
//   low, high   = c(beta_fast), c(beta_slow)                truncate: floor(low), ceil(high)
//   low, high   = max(low, 0), min(high, dim - 1);          equal: high + 0.001
//   ramp[p]     = clamp((p - low) / (high - low), 0, 1)
//   inv_freq[p] = base^(-2p/dim) * ((1 - ramp[p]) + ramp[p] / factor)
//   g(s, m)     = 0.1 m ln(s) + 1;  1 for s <= 1
//   attention factor: attention_factor if given; g(factor, mscale) / g(factor, mscale_all_dim) if both are given and
//   not zero; else g(factor, 1)                             L: original_max_position_embeddings
//
// In the wild: the paper makes the ramp linear in the number of turns, its authors' code and everyone since in
// the pair index, as here. `high` is clamped to dim - 1 although pairs end at dim/2 - 1: all copies do. llama.cpp
// always truncates; mlx-lm reads neither truncate nor attention_factor; vLLM reads attention_factor, mscale and
// mscale_all_dim only since September 2026. Hugging Face reads truncate at the top of rope_parameters, not in a layer
// type's own dict. DeepSeek's models also multiply the softmax scale by g(factor, mscale_all_dim)^2:
// softmax_multiplier().
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/elementary.h"
#include "math/real.h"
#include "math/rope/default_inv_freq.h"
#include "math/rope/scaling_rules.h"

namespace posenc::math {
namespace {

// g(s, m): the growth of attention logits' scale by interpolation; 0.1 is the paper's fit.
double mscale_of(double factor, double m) { return factor <= 1 ? 1.0 : 0.1 * m * logarithm(factor) + 1.0; }

// Hugging Face writes `key or default`, so 0 is the default too.
double given_or(const std::optional<double>& value, double otherwise) {
  return value.value_or(0.0) != 0.0 ? *value : otherwise;
}
double beta_fast(const YarnScaling& rule) { return given_or(rule.beta_fast, 32.0); }
double beta_slow(const YarnScaling& rule) { return given_or(rule.beta_slow, 1.0); }

double attention_factor(const YarnScaling& rule) {
  if (rule.attention_factor) return *rule.attention_factor;
  const double mscale = rule.mscale.value_or(0.0);
  const double all_dim = rule.mscale_all_dim.value_or(0.0);
  if (mscale != 0.0 && all_dim != 0.0) return mscale_of(rule.factor, mscale) / mscale_of(rule.factor, all_dim);
  return mscale_of(rule.factor, 1.0);
}

struct Range {
  double low;
  double high;
};

Range ramp_range(const Rope& rope, const YarnScaling& rule) {
  const auto dim = static_cast<double>(rope.dim);
  const auto trained = static_cast<double>(rule.original_max_position_embeddings);
  const auto pair_of_turns = [&](double turns) {
    return dim * logarithm(trained / (turns * 2 * std::numbers::pi)) / (2 * logarithm(rope.base));
  };
  double low = pair_of_turns(beta_fast(rule));
  double high = pair_of_turns(beta_slow(rule));
  if (rule.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;  // pairs; Hugging Face's guard against 0/0
  return {low, high};
}

}  // namespace

template <typename Real>
Scaled<Real> scale(const Rope& rope, const YarnScaling& rule, Length) {
  const Range range = ramp_range(rope, rule);
  const std::vector<Real> power = powers<Real>(rope, rope.base);  // base^(2p/dim)
  std::vector<Real> inv_freq(power.size());
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    const Real one = real<Real>(1.0);
    const Real extrapolated = one / power[p];
    const Real interpolated = one / (real<Real>(rule.factor) * power[p]);
    const Real place = (static_cast<Real>(p) - real<Real>(range.low)) / real<Real>(range.high - range.low);
    const Real kept = one - std::clamp(place, real<Real>(0.0), one);  // 1 - ramp[p]
    inv_freq[p] = interpolated * (one - kept) + extrapolated * kept;  // in Hugging Face's order, to its last bit
  }
  return {std::move(inv_freq), attention_factor(rule)};
}

std::optional<Problem> check_rule(const Rope& rope, const YarnScaling& rule) {
  if (auto problem = check_shared_frequencies(rope, "YaRN")) return problem;
  if (rope.base == 1) return Problem{"base", "be above 1 for YaRN, which divides by ln(base),", "1"};
  if (auto problem = check_above_zero("factor", rule.factor)) return problem;
  if (auto problem = check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings, 1)) {
    return problem;
  }
  if (auto problem = check_not_negative("attention_factor", rule.attention_factor)) return problem;
  if (auto problem = check_not_negative("beta_fast", rule.beta_fast)) return problem;
  if (auto problem = check_not_negative("beta_slow", rule.beta_slow)) return problem;
  if (auto problem = check_not_negative("mscale", rule.mscale)) return problem;
  if (auto problem = check_not_negative("mscale_all_dim", rule.mscale_all_dim)) return problem;
  if (beta_fast(rule) >= beta_slow(rule)) return {};
  return Problem{"beta_fast", formatted("be at least beta_slow, {},", beta_slow(rule)),
                 formatted("{}", beta_fast(rule))};
}

template Scaled<double> scale(const Rope&, const YarnScaling&, Length);
template Scaled<float> scale(const Rope&, const YarnScaling&, Length);

}  // namespace posenc::math

namespace posenc::inline v0_2 {

double softmax_multiplier(const Scaling& scaling) {
  const auto* rule = std::get_if<YarnScaling>(&scaling);
  if (rule == nullptr) return 1.0;
  auto problem = math::check_above_zero("factor", rule->factor);
  if (!problem) problem = math::check_not_negative("mscale_all_dim", rule->mscale_all_dim);
  if (problem) throw Error("softmax_multiplier", *problem);
  const double g = math::mscale_of(rule->factor, rule->mscale_all_dim.value_or(0.0));
  return g * g;
}

}  // namespace posenc::inline v0_2
