// FoPE, Fourier position embedding, arXiv 2412.17739: cos and sin of each pair are mixtures over the frequencies that
// are kept.
//
//   fope(x, n) = x C + rotate_half(x) S      C_p = sum_m cos(n w_m) cos_mix[m, p], S_p likewise
//
// Half-split (NeoX) pairs. posenc/reference_research.h says where paper, authors' code and vLLM differ.
#include <cmath>
#include <string>

#include "base/formatted.h"
#include "math/rope/rotation.h"
#include "posenc/error.h"
#include "posenc/reference_research.h"
#include "reference/attention_row.h"
#include "research/research_checks.h"

namespace posenc::inline v0_2::reference {
namespace {

void check(std::string_view where, std::string_view field, const Fope& scheme, std::span<const double> x) {
  const std::size_t kept = scheme.inv_freq.size();
  require_numbers(where, field, x, x.size());
  if (x.empty() || x.size() % 2 != 0) {
    throw Error(where,
                {std::string(field), "have an even number of channels, at least 2,", formatted("{} long", x.size())});
  }
  if (kept > x.size() / 2) {
    throw Error(where, {"inv_freq", formatted("have at most one number for each pair, {},", x.size() / 2),
                        formatted("{} long", kept)});
  }
  require_numbers(where, "inv_freq", scheme.inv_freq, kept);
  require_numbers(where, "cos_mix", scheme.cos_mix, kept * kept);
  require_numbers(where, "sin_mix", scheme.sin_mix, kept * kept);
  require_finite(where, "dropped_sin", scheme.dropped_sin);
}

// sum_m waves_m mix[m, p].
double mixed(std::span<const double> waves, std::span<const double> mix, std::size_t p) {
  double sum = 0.0;
  for (std::size_t m = 0; m < waves.size(); ++m) sum += waves[m] * mix[m * waves.size() + p];
  return sum;
}

std::vector<double> rotated(const Fope& scheme, std::span<const double> x, double n) {
  std::vector<double> cosines;
  std::vector<double> sines;
  for (const double w : scheme.inv_freq) {
    cosines.push_back(std::cos(n * w));
    sines.push_back(std::sin(n * w));
  }
  const std::size_t pairs = x.size() / 2;
  std::vector<double> out(x.size());
  for (std::size_t p = 0; p < pairs; ++p) {
    const bool kept = p < cosines.size();
    const double c = kept ? mixed(cosines, scheme.cos_mix, p) : 1.0;
    const double s = kept ? mixed(sines, scheme.sin_mix, p) : scheme.dropped_sin;
    const auto [a, b] = math::rotated<double>({x[p], x[p + pairs]}, c, s);
    out[p] = a;
    out[p + pairs] = b;
  }
  return out;
}

}  // namespace

std::vector<double> fope(const Fope& scheme, std::span<const double> x, double n) {
  check("fope", "x", scheme, x);
  require_finite("fope", "n", n);
  return rotated(scheme, x, n);
}

double fope_score(const Fope& scheme, std::span<const double> q, std::span<const double> k, double i, double j) {
  require_heads("fope_score", q, k);
  check("fope_score", "q", scheme, q);
  require_finite("fope_score", "i", i);
  require_finite("fope_score", "j", j);
  return dot(rotated(scheme, q, i), rotated(scheme, k, j));
}

}  // namespace posenc::inline v0_2::reference
