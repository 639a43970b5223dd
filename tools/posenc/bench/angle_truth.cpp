// True cos and sin: position * inv_freq modulo a quarter turn, by 2/pi to 256 bits and integers of 384. And the
// positions where the angle comes nearest to whole quarter turns, by continued fractions.
#include "bench/angle_truth.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace posenc::tool {
namespace {

// Of GCC and Clang, not of the standard: a product of two 64-bit limbs and a carry fit.
__extension__ using Bits128 = unsigned __int128;
__extension__ using Signed128 = __int128;

// floor(2^256 * 2/pi), lowest limb first; 2/pi from Machin's formula in 120 decimal digits.
constexpr std::array<std::uint64_t, 4> kTwoOverPi{0xFE5163ABDEBBC561, 0xDB6295993C439041, 0xFC2757D1F534DDC0,
                                                  0xA2F9836E4E441529};

// An angle in quarter turns: whole ones modulo 4, and the rest in units of 2^-128.
struct QuarterTurns {
  unsigned whole = 0;
  Bits128 rest = 0;
};

// position * |inv_freq| * 2/pi. With |inv_freq| = m 2^e exactly (m of 53 bits), (position m) * floor(2^256 * 2/pi) is
// exact in six limbs, and the cut of 2/pi costs less than position * |inv_freq| * 2^-256.
QuarterTurns quarter_turns(std::uint64_t position, double inv_freq) {
  int exponent = 0;
  const auto m = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(inv_freq), &exponent), 53));
  const Bits128 product = static_cast<Bits128>(position) * m;
  // Schoolbook: two limbs of the product times four of 2/pi. The seventh stays 0, for word() to read beyond the end.
  std::array<std::uint64_t, 7> limbs{};
  for (std::size_t i = 0; i < 2; ++i) {
    std::uint64_t carry = 0;
    const auto digit = static_cast<std::uint64_t>(product >> (64 * i));
    for (std::size_t k = 0; k < kTwoOverPi.size(); ++k) {
      const Bits128 sum = static_cast<Bits128>(digit) * kTwoOverPi[k] + limbs[i + k] + carry;
      limbs[i + k] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    limbs[i + kTwoOverPi.size()] = carry;
  }
  // 64 bits of the product from `bit` on; zeros beyond its end. The unit of a quarter turn is bit 256 + 53 - exponent.
  const auto word = [&](std::size_t bit) {
    const std::size_t limb = bit / 64;
    if (limb >= 6) return std::uint64_t{0};
    const Bits128 two = static_cast<Bits128>(limbs[limb + 1]) << 64 | limbs[limb];
    return static_cast<std::uint64_t>(two >> (bit % 64));
  };
  const auto unit = static_cast<std::size_t>(256 + 53 - exponent);
  return {static_cast<unsigned>(word(unit) & 3U), static_cast<Bits128>(word(unit - 64)) << 64 | word(unit - 128)};
}

}  // namespace

CosAndSin true_cos_sin(std::int64_t position, double inv_freq) {
  const double angle = static_cast<double>(position) * inv_freq;
  // sin x = x (1 - x^2/6) and cos x = 1 - x^2/2: the rest is below 2^-61.
  if (std::fabs(angle) < 0x1p-30) return {1.0, angle};
  const std::uint64_t size =
      position < 0 ? 0 - static_cast<std::uint64_t>(position) : static_cast<std::uint64_t>(position);
  QuarterTurns turns = quarter_turns(size, inv_freq);
  // To the nearest quarter turn: as a signed number the rest lies in [-1/2, 1/2). Its conversion to double, the
  // rounded pi/2, their product and libm on [-pi/4, pi/4] each cost at most 2^-53 of the result.
  const auto rest = static_cast<Signed128>(turns.rest);
  turns.whole += rest < 0 ? 1U : 0U;
  const double radians = std::ldexp(static_cast<double>(rest), -128) * (std::numbers::pi / 2.0);
  CosAndSin out{std::cos(radians), std::sin(radians)};
  // (cos, sin) a quarter turn on is (-sin, cos); half a turn on, both change sign.
  if (turns.whole & 1U) out = {-out.sin, out.cos};
  if (turns.whole & 2U) out = {-out.cos, -out.sin};
  if (angle < 0) out.sin = -out.sin;
  return out;
}

std::vector<std::int64_t> hardest_positions(double inv_freq, std::int64_t limit) {
  std::vector<std::int64_t> out;
  if (inv_freq == 0.0) return out;
  // Euclid's algorithm on 1 and the fraction of a position's quarter turns, in units of 2^-127; whole ones do not
  // matter. It ends at a remainder of 0, and where a quotient or a denominator is beyond the limit: a product that may
  // have wrapped is not used.
  Bits128 larger = static_cast<Bits128>(1) << 127;
  Bits128 smaller = quarter_turns(1, inv_freq).rest >> 1;
  Bits128 before = 0;
  Bits128 denominator = 1;
  while (smaller != 0) {
    const Bits128 quotient = larger / smaller;
    before = std::exchange(denominator, quotient * denominator + before);
    if (quotient > static_cast<Bits128>(limit) || denominator > static_cast<Bits128>(limit)) break;
    out.push_back(static_cast<std::int64_t>(denominator));
    larger = std::exchange(smaller, larger % smaller);
  }
  return out;
}

}  // namespace posenc::tool
