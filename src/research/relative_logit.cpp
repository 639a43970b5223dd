#include <algorithm>
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "posenc/reference_research.h"
#include "reference/attention_row.h"
#include "research/research_checks.h"

namespace posenc::inline v0_2::reference {
namespace {

constexpr std::string_view kRelativeLogit = "relative_logit";

void require_none(const std::optional<Problem>& problem) {
  if (problem) throw Error(kRelativeLogit, *problem);
}

double log_scale(const RelativeLogits& scheme, std::int64_t i) {
  if (!scheme.n_floor) return 1.0;
  const double lengths = (static_cast<double>(i) + 1.0) / static_cast<double>(*scheme.n_floor);
  return 1.0 + scheme.alpha * std::log(std::max(lengths, 1.0));
}

// r . P[:, distance]
double relative(std::span<const double> profiles, std::span<const double> r, std::int64_t distance) {
  const std::size_t extent = profiles.size() / r.size();
  if (distance < 0 || index(distance) >= extent) return 0.0;
  double sum = 0.0;
  for (std::size_t c = 0; c < r.size(); ++c) sum += r[c] * profiles[c * extent + index(distance)];
  return sum;
}

void check(const RelativeLogits& scheme, std::span<const double> r) {
  require_numbers(kRelativeLogit, "r", r, r.size());
  if (r.empty()) throw Error(kRelativeLogit, {"r", "have at least one number", "empty"});
  require_numbers(kRelativeLogit, "profiles", scheme.profiles, scheme.profiles.size());
  if (scheme.profiles.empty() || scheme.profiles.size() % r.size() != 0) {
    throw Error(kRelativeLogit, {"profiles", formatted("have a row for each number of r, {},", r.size()),
                         formatted("{} long", scheme.profiles.size())});
  }
  if (scheme.n_floor) require_none(math::check_at_least("n_floor", *scheme.n_floor, 1));
  require_finite(kRelativeLogit, "alpha", scheme.alpha);
}

}  // namespace

double relative_logit(const RelativeLogits& scheme, std::span<const double> q, std::span<const double> k,
                      std::span<const double> r, std::int64_t i, std::int64_t j) {
  require_heads(kRelativeLogit, q, k);
  check(scheme, r);
  require_none(math::check_at_least("i", i, 0));
  require_none(math::check_at_least("j", j, 0));
  const double product = dot(q, k) / static_cast<double>(q.size());
  return log_scale(scheme, i) * (product + relative(scheme.profiles, r, i - j));
}

}  // namespace posenc::inline v0_2::reference
