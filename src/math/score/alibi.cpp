// ALiBi, arXiv 2108.12409: slopes that fall by powers of two.
//
// OLMo takes 2^(-max_bias k / n) for any n (geometric_slopes), which for a power of two is the same.
//
// MPT builds slopes for the next power of two above and takes [1::2] ++ [0::2] of them, cut: the same numbers in the
// same order. BLOOM and Falcon add slope j, which is the relative form to the softmax, since slope i is the same for a
// whole row; Falcon's rounding to bfloat16 is not. flash-attention's encoders use |i + keys - queries - j|.
#include "math/score/alibi.h"

#include <bit>
#include <cmath>

#include "base/formatted.h"
#include "math/bfloat16.h"
#include "math/elementary.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::inline v0_2 {
namespace {

// 2^(-max_bias k / n) for k = 0, 1, ... `last`: rounded once, on every processor.
std::vector<double> slopes(double max_bias, std::int64_t n, std::int64_t last) {
  return math::power_sequence(2.0, -max_bias, static_cast<double>(n), last + 1);
}

}  // namespace

std::vector<double> alibi_slopes(const Alibi& scheme) {
  if (scheme.heads < 1) {
    throw Error("alibi_slopes", {"heads", "be at least 1", formatted("{}", scheme.heads)});
  }
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(scheme.heads)));
  const std::int64_t power = scheme.geometric_slopes ? scheme.heads : below;
  std::vector<double> out = slopes(scheme.max_bias, power, power);
  out.erase(out.begin());  // k = 0
  const std::int64_t more = scheme.heads - power;
  if (more == 0) return out;
  const std::vector<double> between = slopes(scheme.max_bias, 2 * power, 2 * more - 1);
  for (std::size_t k = 1; k < between.size(); k += 2) out.push_back(between[k]);
  return out;
}

double alibi_bias(const Alibi& scheme, double slope, double i, double j) {
  switch (scheme.form) {
    case AlibiForm::relative: return -slope * (scheme.symmetric ? std::abs(i - j) : i - j);
    case AlibiForm::column: return slope * j;
    case AlibiForm::column_bfloat16:
      return math::rounded_to_bfloat16(math::rounded_to_bfloat16(slope) * math::rounded_to_bfloat16(j));
  }
  return 0.0;
}

}  // namespace posenc::inline v0_2

namespace posenc::math {

double alibi_slope_derivative(const Alibi& scheme, double i, double j) { return alibi_bias(scheme, 1.0, i, j); }

}  // namespace posenc::math
