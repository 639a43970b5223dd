// Multiplicative GRAPE rotates plane after plane, each by Rodrigues' formula, arXiv 2512.07805, 2.3: with t = n w s,
//
//   exp(n w L) x = x + (sin t / s) L x + ((1 - cos t) / s^2) L^2 x      s^2 = |a|^2 |b|^2 - (a . b)^2
//
// Orthogonal planes commute, so the product is the exponential of the sum.
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "math/score/softplus.h"
#include "posenc/error.h"
#include "posenc/reference_research.h"
#include "reference/attention_row.h"
#include "research/research_checks.h"

namespace posenc::inline v0_2::reference {
namespace {

// Planes that were learned in float: a product of two vectors of 256 channels is off by up to 256 roundings of 2^-24 of
// their lengths.
constexpr double kOrthogonal = 0x1p-16;

// In double that is 2^-45: with s^2 above so much of |a|^2 |b|^2 it keeps 29 bits.
constexpr double kNotParallel = 0x1p-16;

using Vector = std::span<const double>;

double squared_sine(const GrapePlane& plane) {
  const double along = dot(plane.a, plane.b);
  return dot(plane.a, plane.a) * dot(plane.b, plane.b) - along * along;
}

bool orthogonal(Vector a, Vector b) { return std::abs(dot(a, b)) <= kOrthogonal * std::sqrt(dot(a, a) * dot(b, b)); }

bool orthogonal(const GrapePlane& one, const GrapePlane& other) {
  return orthogonal(one.a, other.a) && orthogonal(one.a, other.b) && orthogonal(one.b, other.a) &&
         orthogonal(one.b, other.b);
}

void check(std::string_view where, std::span<const GrapePlane> planes, std::size_t channels) {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto field = [p](const char* member) { return formatted("planes[{}]{}", p, member); };
    require_numbers(where, field(".a"), planes[p].a, channels);
    require_numbers(where, field(".b"), planes[p].b, channels);
    require_finite(where, field(".frequency"), planes[p].frequency);
    if (!(squared_sine(planes[p]) > kNotParallel * dot(planes[p].a, planes[p].a) * dot(planes[p].b, planes[p].b))) {
      throw Error(where, {field(""), "have two directions", "a and b in one, or 0"});
    }
    for (std::size_t other = 0; other < p; ++other) {
      if (!orthogonal(planes[p], planes[other])) {
        throw Error(where,
                    {field(""), "be orthogonal to the planes before it", formatted("not so to planes[{}]", other)});
      }
    }
  }
}

// L x = a (b . x) - b (a . x).
std::vector<double> generated(const GrapePlane& plane, Vector x) {
  const double along_a = dot(plane.a, x);
  const double along_b = dot(plane.b, x);
  std::vector<double> out(x.size());
  for (std::size_t c = 0; c < x.size(); ++c) out[c] = plane.a[c] * along_b - plane.b[c] * along_a;
  return out;
}

std::vector<double> rotated(std::span<const GrapePlane> planes, Vector x, double n) {
  std::vector<double> out(x.begin(), x.end());
  for (const GrapePlane& plane : planes) {
    const double s = std::sqrt(squared_sine(plane));
    const double t = n * plane.frequency * s;
    const std::vector<double> once = generated(plane, out);
    const std::vector<double> twice = generated(plane, once);
    for (std::size_t c = 0; c < out.size(); ++c) {
      out[c] += std::sin(t) / s * once[c] + (1.0 - std::cos(t)) / (s * s) * twice[c];
    }
  }
  return out;
}

double gate(Vector direction, Vector x) {
  if (direction.empty()) return 0.0;
  return math::softplus(dot(direction, x) / std::sqrt(static_cast<double>(x.size())));
}

}  // namespace

std::vector<double> grape(std::span<const GrapePlane> planes, std::span<const double> x, double n) {
  require_numbers("grape", "x", x, x.size());
  check("grape", planes, x.size());
  require_finite("grape", "n", n);
  return rotated(planes, x, n);
}

double grape_score(std::span<const GrapePlane> planes, std::span<const double> q, std::span<const double> k, double i,
                   double j) {
  require_heads("grape_score", q, k);
  check("grape_score", planes, q.size());
  require_finite("grape_score", "i", i);
  require_finite("grape_score", "j", j);
  return dot(rotated(planes, q, i), rotated(planes, k, j));
}

double grape_bias(const GrapeBias& scheme, std::span<const double> q, std::span<const double> k, double i, double j) {
  constexpr std::string_view kWhere = "grape_bias";
  require_heads(kWhere, q, k);
  if (auto problem = math::check_not_negative("rate", scheme.rate)) throw Error(kWhere, *problem);
  if (!scheme.query_gate.empty()) require_numbers(kWhere, "query_gate", scheme.query_gate, q.size());
  if (!scheme.key_gate.empty()) require_numbers(kWhere, "key_gate", scheme.key_gate, q.size());
  require_finite(kWhere, "i", i);
  require_finite(kWhere, "j", j);
  const bool gated = !scheme.query_gate.empty() || !scheme.key_gate.empty();
  return (j - i) * scheme.rate * (gated ? gate(scheme.query_gate, q) + gate(scheme.key_gate, k) : 1.0);
}

}  // namespace posenc::inline v0_2::reference
