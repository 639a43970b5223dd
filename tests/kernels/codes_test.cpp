// Codes of quantised KV caches: ggml's blocks byte for byte (scripts/block_vectors.py), fp8 by its definition, whole
// numbers within half a step, the same bits on every instruction set, nothing written beside a row.
#include "kernels/codes/codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/machine/dispatch.h"
#include "support/every_isa.h"

namespace posenc::test::codes_test {
namespace {

using kernels::Codes;

#include "kernels/block_vectors.inc"

constexpr std::array kPlain{Codes::int8, Codes::uint8, Codes::int4, Codes::uint4, Codes::e4m3, Codes::e5m2};

bool is_four_bit(Codes codes) { return codes == Codes::int4 || codes == Codes::uint4; }
bool has_zero(Codes codes) { return codes == Codes::uint8 || codes == Codes::uint4; }

const kernels::CodeKernels& of(Isa isa) { return *cpu::kernels_for("test", isa).codes; }

template <std::size_t kSize>
void expect_blocks(Codes codes, const std::array<std::uint8_t, kSize>& wanted) {
  std::vector<float> numbers;
  numbers.reserve(std::size(kNumbers));
  for (const std::uint32_t bits : kNumbers) numbers.push_back(std::bit_cast<float>(bits));
  constexpr std::int64_t kRows = 3;  // of 11 blocks each
  const auto count = std::ssize(numbers) / kRows;
  for (const Isa isa : every_isa("blocks")) {
    std::vector<std::uint8_t> is(kSize + kRows, 0xA5);  // a byte between rows
    const auto row = static_cast<std::int64_t>(kSize) / kRows;
    of(isa).encode({.codes = codes,
                    .rows = kRows,
                    .count = count,
                    .from = numbers.data(),
                    .from_row = count,
                    .to = is.data(),
                    .to_row = row + 1});
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto own = is.begin() + r * (row + 1);
      EXPECT_TRUE(std::equal(own, own + row, wanted.begin() + r * row)) << name(isa) << ", row " << r;
      EXPECT_EQ(own[row], 0xA5) << name(isa);
    }
  }
}

TEST(Codes, AreGgmlsBlocks) {
  expect_blocks(Codes::q8_0, k_q8_0);
  expect_blocks(Codes::q4_0, k_q4_0);
  expect_blocks(Codes::q5_1, k_q5_1);
}

// By the published layout, channel by channel.
double block_number(Codes codes, const std::uint8_t* block, std::int64_t channel) {
  const auto f16 = [&](std::int64_t at) {
    const std::uint32_t h = block[at] | block[at + 1] << 8U;
    const double fraction = h & 0x3FFU;
    const auto exponent = static_cast<int>(h >> 10U & 31U);
    const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return (h & 0x8000U) != 0 ? -size : size;
  };
  const auto half = [&](std::int64_t at) { return block[at + channel % 16] >> (channel / 16 * 4) & 15; };
  if (codes == Codes::q8_0) return f16(0) * static_cast<std::int8_t>(block[2 + channel]);
  if (codes == Codes::q4_0) return f16(0) * (half(2) - 8);
  const int fifth = block[4 + channel / 8] >> (channel % 8) & 1;
  return f16(0) * (half(8) + 16 * fifth) + f16(2);
}

template <std::size_t kSize>
void expect_numbers(Codes codes, const std::array<std::uint8_t, kSize>& blocks) {
  for (const Isa isa : every_isa("numbers of blocks")) {
    std::vector<float> is(kNumbers.size());
    of(isa).decode({.codes = codes, .rows = 1, .count = std::ssize(is), .from = blocks.data(), .to = is.data()});
    const std::size_t bytes = kSize / (kNumbers.size() / 32);
    for (std::size_t n = 0; n < is.size(); ++n) {
      const double wanted = block_number(codes, blocks.data() + n / 32 * bytes, static_cast<std::int64_t>(n % 32));
      ASSERT_EQ(is[n], static_cast<float>(wanted)) << name(isa) << ", number " << n;
    }
  }
}

// docs/quantised-cache.md: half a step, of q4_0 a whole one at the end that -8 is not, and the roundings of scale and
// least number to binary16, relatively or, below its normal numbers, 2^-25.
double block_bound(Codes codes, const float* block) {
  const auto [low, high] = std::minmax_element(block, block + 32);
  const double largest = std::max(std::abs(*low), std::abs(*high));
  const double range = static_cast<double>(*high) - *low;
  if (codes == Codes::q8_0) return largest * (1.0 / 254 + 0x1.01p-11) + 127 * 0x1p-25;
  if (codes == Codes::q4_0) return largest * (1.0 / 8 + 0x1.01p-11) + 8 * 0x1p-25;
  return range / 62 + 0x1.01p-11 * (std::abs(*low) + range) + 32 * 0x1p-25;
}

template <std::size_t kSize>
void expect_near(Codes codes, const std::array<std::uint8_t, kSize>& blocks) {
  std::vector<float> given;
  given.reserve(std::size(kNumbers));
  for (const std::uint32_t bits : kNumbers) given.push_back(std::bit_cast<float>(bits));
  std::vector<float> is(given.size());
  of(Isa::scalar).decode({.codes = codes, .rows = 1, .count = std::ssize(is), .from = blocks.data(), .to = is.data()});
  double largest = 0.0;
  for (std::size_t n = 0; n < is.size(); ++n) {
    const double bound = block_bound(codes, given.data() + n / 32 * 32);
    ASSERT_LE(std::abs(is[n] - given[n]), bound) << "codes " << int(codes) << ", number " << n;
    largest = std::max(largest, std::abs(is[n] - given[n]) / bound);
  }
  EXPECT_GT(largest, 0.5) << "codes " << int(codes);
}

TEST(Codes, OfBlocksAreWithinTheirBounds) {
  expect_near(Codes::q8_0, k_q8_0);
  expect_near(Codes::q4_0, k_q4_0);
  expect_near(Codes::q5_1, k_q5_1);
}

TEST(Codes, OfBlocksAreRead) {
  expect_numbers(Codes::q8_0, k_q8_0);
  expect_numbers(Codes::q4_0, k_q4_0);
  expect_numbers(Codes::q5_1, k_q5_1);
}

// E4M3FN: bias 7, 3 bits of mantissa, NaN alone at the top; E5M2: bias 15, 2 bits, infinities. arXiv 2209.05433,
// table 1.
double f8_number(Codes codes, int code) {
  const bool is_four = codes == Codes::e4m3;
  const int bits = is_four ? 3 : 2;
  const int bias = is_four ? 7 : 15;
  const int exponent = (code & 0x7F) >> bits;
  const int mantissa = code & ((1 << bits) - 1);
  double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - bits)
                              : std::ldexp((1 << bits) + mantissa, exponent - bias - bits);
  if (is_four && (code & 0x7F) == 0x7F) size = std::numeric_limits<double>::quiet_NaN();
  if (!is_four && exponent == 31) {
    size = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return (code & 0x80) != 0 ? -size : size;
}

TEST(Codes, OfFp8AreAllRead) {
  std::array<std::uint8_t, 256> codes{};
  for (int n = 0; n < 256; ++n) codes[static_cast<std::size_t>(n)] = static_cast<std::uint8_t>(n);
  for (const Codes type : {Codes::e4m3, Codes::e5m2}) {
    for (const Isa isa : every_isa("fp8")) {
      std::array<float, 256> is{};
      of(isa).decode({.codes = type, .rows = 1, .count = 256, .from = codes.data(), .to = is.data()});
      for (int n = 0; n < 256; ++n) {
        const double wanted = f8_number(type, n);
        const float own = is[static_cast<std::size_t>(n)];
        if (std::isnan(wanted)) {
          EXPECT_TRUE(std::isnan(own)) << name(isa) << ", code " << n;
        } else {
          EXPECT_EQ(own, wanted) << name(isa) << ", code " << n;
        }
      }
    }
  }
}

// Every number of bfloat16, as floats that lie densely enough: to the nearest code, ties to the even one, the largest
// for what is larger.
TEST(Codes, OfFp8AreTheNearest) {
  std::vector<float> numbers;
  for (std::uint32_t n = 0; n < 0x7F80U; ++n) {
    for (const std::uint32_t low : {0U, 0x8000U}) numbers.push_back(std::bit_cast<float>(n << 16U | low));
  }
  for (const Codes type : {Codes::e4m3, Codes::e5m2}) {
    const int most = type == Codes::e4m3 ? 0x7E : 0x7B;
    for (const Isa isa : every_isa("nearest fp8")) {
      std::vector<std::uint8_t> is(numbers.size());
      of(isa).encode({.codes = type, .rows = 1, .count = std::ssize(numbers), .from = numbers.data(), .to = is.data()});
      int nearest = 0;
      for (std::size_t n = 0; n < numbers.size(); ++n) {
        const double x = numbers[n];
        while (nearest < most) {
          const double below = x - f8_number(type, nearest);
          const double above = f8_number(type, nearest + 1) - x;
          if (below < above || (below == above && nearest % 2 == 0)) break;
          ++nearest;
        }
        ASSERT_EQ(is[n], nearest) << name(isa) << ", " << x;
      }
    }
  }
}

std::vector<float> rows_of(std::int64_t rows, std::int64_t count) {
  std::mt19937 random(20251128);
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<std::size_t>(rows * count));
  for (float& x : out) x = normal(random);
  for (std::int64_t c = 0; c < count; ++c) out[static_cast<std::size_t>(c)] = 0.0F;  // a row of zeros
  for (std::int64_t c = 0; c < count; ++c) out[static_cast<std::size_t>(count + c)] *= 1e-20F;
  if (count > 3) out[static_cast<std::size_t>(2 * count + 3)] = 50.0F;  // an outlier
  return out;
}

struct Encoded {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale;
  std::vector<float> zero;
};

Encoded encoded(Codes codes, Isa isa, const std::vector<float>& x, std::int64_t rows, std::int64_t count) {
  const std::int64_t bytes = is_four_bit(codes) ? count / 2 : count;
  Encoded out{.codes = std::vector<std::uint8_t>(static_cast<std::size_t>(rows * (bytes + 1)), 0xA5),
              .scale = std::vector<float>(static_cast<std::size_t>(rows)),
              .zero = std::vector<float>(static_cast<std::size_t>(rows))};
  of(isa).encode({.codes = codes,
                  .rows = rows,
                  .count = count,
                  .from = x.data(),
                  .from_row = count,
                  .to = out.codes.data(),
                  .to_row = bytes + 1,
                  .scale = out.scale.data(),
                  .scale_row = 1,
                  .zero = has_zero(codes) ? out.zero.data() : nullptr,
                  .zero_row = 1});
  return out;
}

// Half a step, and the roundings of quotient, product and sum: a few of what codes and zeros are large; of fp8 half of
// what a code's last bit is worth, and half of the least number's.
double bound(Codes codes, double x, double scale, double zero) {
  constexpr double kRounding = 0x1p-24;
  if (codes == Codes::e4m3 || codes == Codes::e5m2) {
    const bool is_four = codes == Codes::e4m3;
    const double least = scale * std::ldexp(1.0, is_four ? -10 : -17);
    return std::max(std::abs(x) * std::ldexp(1.0, is_four ? -4 : -3), least) + 3 * kRounding * std::abs(x) + 0x1p-100;
  }
  return scale / 2 + 4 * kRounding * (std::abs(x) + std::abs(zero)) + 0x1p-100;
}

TEST(Codes, AreWithinTheirBounds) {
  constexpr std::int64_t kRows = 7;
  for (const Codes codes : kPlain) {
    double largest = 0.0;
    for (const std::int64_t count : {2, 16, 30, 64, 100, 128}) {
      const std::vector<float> x = rows_of(kRows, count);
      const Encoded first = encoded(codes, Isa::scalar, x, kRows, count);
      for (const Isa isa : every_isa("plain codes")) {
        const Encoded own = encoded(codes, isa, x, kRows, count);
        EXPECT_EQ(own.codes, first.codes) << name(isa);
        EXPECT_EQ(own.scale, first.scale) << name(isa);
        EXPECT_EQ(own.zero, first.zero) << name(isa);
        const std::int64_t bytes = is_four_bit(codes) ? count / 2 : count;
        std::vector<float> is(x.size() + kRows, -1.0F);
        of(isa).decode({.codes = codes,
                        .rows = kRows,
                        .count = count,
                        .from = own.codes.data(),
                        .from_row = bytes + 1,
                        .to = is.data(),
                        .to_row = count + 1,
                        .scale = own.scale.data(),
                        .scale_row = 1,
                        .zero = has_zero(codes) ? own.zero.data() : nullptr,
                        .zero_row = 1});
        for (std::int64_t r = 0; r < kRows; ++r) {
          EXPECT_EQ(own.codes[static_cast<std::size_t>(r * (bytes + 1) + bytes)], 0xA5);
          EXPECT_EQ(is[static_cast<std::size_t>(r * (count + 1) + count)], -1.0F);
          const auto row = static_cast<std::size_t>(r);
          for (std::int64_t c = 0; c < count; ++c) {
            const double given = x[static_cast<std::size_t>(r * count + c)];
            const double kept = is[static_cast<std::size_t>(r * (count + 1) + c)];
            const double ratio = std::abs(given - kept) / bound(codes, given, own.scale[row], own.zero[row]);
            ASSERT_LE(ratio, 1.0) << name(isa) << ", codes " << int(codes) << ", row " << r << ", channel " << c;
            largest = std::max(largest, ratio);
          }
        }
      }
    }
    EXPECT_GT(largest, 0.5) << "codes " << int(codes);
  }
}

// What is not finite leaves no finite number in its row, and codes that are codes.
TEST(Codes, KeepWhatIsNotFiniteVisible) {
  for (const Codes codes : kPlain) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (const Isa isa : every_isa("not finite")) {
        std::vector<float> x = rows_of(4, 64);
        x[3 * 64 + 9] = bad;
        const Encoded own = encoded(codes, isa, x, 4, 64);
        EXPECT_TRUE(std::isnan(own.scale[3])) << name(isa) << ", codes " << int(codes);
        EXPECT_FALSE(std::isnan(own.scale[2]));
      }
    }
  }
}

// Scales and zeros by channel, with one channel that is much larger than the others: its own step is.
TEST(Codes, ByChannelAreWithinTheirBounds) {
  constexpr std::int64_t kRows = 32;
  constexpr std::int64_t kCount = 70;
  std::vector<float> x = rows_of(kRows, kCount);
  for (std::int64_t r = 0; r < kRows; ++r) x[static_cast<std::size_t>(r * kCount + 5)] += 40.0F;
  for (const bool is_f16 : {false, true}) {
    std::vector<std::uint8_t> first;
    for (const Isa isa : every_isa("codes by channel")) {
      std::vector<std::uint8_t> codes(kRows * kCount / 2);
      std::vector<float> scale(kCount);
      std::vector<float> zero(kCount);
      of(isa).encode_channels({.rows = kRows,
                               .count = kCount,
                               .from = x.data(),
                               .from_row = kCount,
                               .to = codes.data(),
                               .to_row = kCount / 2,
                               .scale = scale.data(),
                               .zero = zero.data(),
                               .rounds_to_f16 = is_f16});
      if (first.empty()) first = codes;
      EXPECT_EQ(codes, first) << name(isa);
      std::vector<float> is(x.size());
      of(isa).decode_channels({.codes = Codes::uint4,
                               .rows = kRows,
                               .count = kCount,
                               .from = codes.data(),
                               .from_row = kCount / 2,
                               .to = is.data(),
                               .to_row = kCount,
                               .element = kernels::Element::f32,
                               .scale = scale.data(),
                               .zero = zero.data()});
      for (std::size_t n = 0; n < x.size(); ++n) {
        const std::size_t c = n % kCount;
        // Rounded to f16, zero and scale may leave the ends outside: by their roundings.
        const double rounded = is_f16 ? 0x1p-11 * (std::abs(zero[c]) + 15 * scale[c]) : 0.0;
        const double most = scale[c] / 2.0 + rounded + 0x1p-22 * (std::abs(zero[c]) + 15 * scale[c]) + 0x1p-100;
        ASSERT_LE(std::abs(is[n] - x[n]), most) << name(isa) << ", channel " << c;
      }
      EXPECT_GT(scale[5], 0.0F);
      EXPECT_LT(scale[5], 0.7F);
    }
  }
}

}  // namespace
}  // namespace posenc::test::codes_test
