// Positions at which an angle comes near to a zero of cos or sin.
//
// cos(x f) or sin(x f) is near 0 where x f is near k pi/2, that is where k/x is near 2 f / pi; sin alone where k/x is
// near f / pi. The best such fractions are the convergents of the continued fraction and the fractions between them
// (Khinchin, Continued Fractions, sections 6 and 7).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/real.h"

namespace posenc::test {

// Denominators up to `limit`, ascending, of the convergents of `alpha` > 0 and of the first and last fractions between
// them. `alpha` is consumed; its precision must exceed twice the bits of `limit` by a margin.
inline std::vector<std::int64_t> best_denominators(Real& alpha, std::int64_t limit) {
  constexpr std::int64_t kBetween = 6;  // at either end of a run of fractions between two convergents
  std::vector<std::int64_t> out;
  std::int64_t previous = 1;  // denominators of the last two convergents, before the first: 1 and 0
  std::int64_t last = 0;
  Real term(mpfr_get_prec(alpha.get()));
  while (last <= limit) {
    mpfr_floor(term.get(), alpha.get());
    const std::int64_t most = last == 0 ? 1 : (limit - previous) / last + 1;
    const auto a = static_cast<std::int64_t>(std::min(mpfr_get_d(term.get(), MPFR_RNDN), static_cast<double>(most)));
    if (last != 0) {
      for (std::int64_t i = 1; i <= a; ++i) {
        if (i > kBetween && i + kBetween <= a) continue;
        if (i * last + previous <= limit) out.push_back(i * last + previous);
      }
    }
    const std::int64_t next = last == 0 ? 1 : a * last + previous;
    previous = last;
    last = next;
    mpfr_sub(alpha.get(), alpha.get(), term.get(), MPFR_RNDN);
    if (mpfr_zero_p(alpha.get()) != 0) break;
    mpfr_ui_div(alpha.get(), 1, alpha.get(), MPFR_RNDN);
  }
  return out;
}

// Ascending.
inline std::vector<std::int64_t> positions_near_zeros(double f, std::int64_t limit) {
  std::vector<std::int64_t> out;
  for (const double multiple : {1.0, 2.0}) {
    Real alpha(400);
    Real pi(400);
    mpfr_const_pi(pi.get(), MPFR_RNDN);
    mpfr_set_d(alpha.get(), multiple * f, MPFR_RNDN);
    mpfr_div(alpha.get(), alpha.get(), pi.get(), MPFR_RNDN);
    const std::vector<std::int64_t> found = best_denominators(alpha, limit);
    out.insert(out.end(), found.begin(), found.end());
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace posenc::test
