// Wavelengths, and the critical dimension of extrapolation. Scaling laws of RoPE-based extrapolation, arXiv 2310.05209.
//
// The paper gives 2 * ceil(dim/2 * log_base(L / 2 pi)) for plain RoPE, L the trained length; counting the pairs whose
// wavelength fits in L is the same number there, and has a meaning for every scaling rule.
#include <cmath>
#include <limits>
#include <numbers>

#include "math/check/parameter_checks.h"
#include "posenc/wavelength.h"

namespace posenc::inline v0_2 {

Wavelengths wavelengths(const Rope& rope, std::int64_t trained_length, std::optional<std::int64_t> length) {
  auto problem = check(rope);
  if (!problem) problem = math::check_at_least("trained_length", trained_length, 1);
  if (problem) throw Error("wavelengths", *problem);

  if (!length && !check(rope, trained_length)) length = trained_length;
  Wavelengths result;
  for (const double inv_freq : frequencies(rope, length).inv_freq) {
    const double wavelength =
        inv_freq != 0 ? 2 * std::numbers::pi / std::abs(inv_freq) : std::numeric_limits<double>::infinity();
    result.wavelength.push_back(wavelength);
    if (wavelength > static_cast<double>(trained_length)) ++result.incomplete_pairs;
  }
  result.critical_dim = 2 * (rope.pairs() - result.incomplete_pairs);
  return result;
}

}  // namespace posenc::inline v0_2
