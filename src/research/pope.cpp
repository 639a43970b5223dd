#include <algorithm>
#include <cmath>
#include <numbers>

#include "math/check/parameter_checks.h"
#include "math/score/softplus.h"
#include "posenc/reference_research.h"
#include "research/research_checks.h"

namespace posenc::inline v0_2::reference {
namespace {

constexpr std::string_view kPope = "pope_score";

void check(const Pope& scheme, std::span<const double> q, std::span<const double> k, double i, double j) {
  require_heads(kPope, q, k);
  if (auto problem = math::check_above_zero("base", scheme.base)) throw Error(kPope, *problem);
  if (!scheme.delta.empty()) require_numbers(kPope, "delta", scheme.delta, q.size());
  require_finite(kPope, "i", i);
  require_finite(kPope, "j", j);
}

}  // namespace

double pope_score(const Pope& scheme, std::span<const double> q, std::span<const double> k, double i, double j) {
  check(scheme, q, k, i, j);
  double score = 0.0;
  for (std::size_t c = 0; c < q.size(); ++c) {
    const double w = std::pow(scheme.base, -static_cast<double>(c) / static_cast<double>(q.size()));
    const double delta = scheme.delta.empty() ? 0.0 : std::clamp(scheme.delta[c], -2.0 * std::numbers::pi, 0.0);
    score += math::softplus(q[c]) * math::softplus(k[c]) * std::cos((j - i) * w + delta);
  }
  return score;
}

}  // namespace posenc::inline v0_2::reference
