// From each dtype to each other: all numbers of 16 bits, and floats where rounding is decided.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "posenc/cache.h"
#include "posenc/info.h"
#include "reference/elements.h"
#include "rotate/cache_tensors.h"
#include "support/every_isa.h"

namespace posenc::test::convert_test {
namespace {

// x as values of one head each row, stored in a cache of `to`. Rows of an odd length have a rest in every register.
Owned stored(const Owned& x, DType to, Isa isa) {
  const std::int64_t rows = x.view.shape[0];
  const Owned k = owned(DType::f32, {rows, 1, 2});
  Owned k_cache = owned(DType::f32, {rows, 1, 2});
  Owned out = owned(to, {rows, 1, x.view.shape[2]});
  std::vector<std::int64_t> slots(static_cast<std::size_t>(rows));
  std::iota(slots.begin(), slots.end(), std::int64_t{0});
  (void)rotate_into_cache(
      {.k = k.view, .v = x.view, .k_cache = k_cache.view, .v_cache = out.view, .slots = slots, .isa = isa});
  return out;
}

template <typename Bits>
Owned of_bits(DType dtype, const std::vector<Bits>& bits) {
  constexpr std::int64_t kRow = 37;
  const auto rows = (std::ssize(bits) + kRow - 1) / kRow;
  Owned out = owned(dtype, {rows, 1, kRow});
  std::memset(out.view.data, 0, static_cast<std::size_t>(rows * kRow) * sizeof(Bits));
  std::memcpy(out.view.data, bits.data(), bits.size() * sizeof(Bits));
  return out;
}

std::vector<std::uint16_t> all_bits() {
  std::vector<std::uint16_t> out(1U << 16U);
  std::iota(out.begin(), out.end(), std::uint16_t{0});
  return out;
}

// The largest number of a dtype, and what is rounded to infinity.
double overflow(DType dtype) { return dtype == DType::f16 ? 65520.0 : std::ldexp(511.0, 119); }

void expect_nearest(const Owned& from, const Owned& to, Isa isa) {
  for_offsets(from.view, [&](std::int64_t offset) {
    const double x = reference::read(from.view, offset);
    const double y = reference::read(to.view, offset);
    const auto said = [&] { return testing::Message() << name(isa) << " " << name(from.view.dtype) << " " << x; };
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(y)) << said();
    } else if (to.view.dtype == DType::f32) {
      EXPECT_EQ(x, y) << said();
      EXPECT_EQ(std::signbit(x), std::signbit(y)) << said();
    } else if (std::abs(x) >= overflow(to.view.dtype)) {
      EXPECT_EQ(y, std::copysign(INFINITY, x)) << said();
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, static_cast<const std::uint16_t*>(to.view.data) + offset, sizeof bits);
      EXPECT_EQ(bits, nearest_bits(to.view.dtype, x)) << said();
    }
  });
}

TEST(Convert, EveryNumberOf16Bits) {
  for (const Isa isa : every_isa("numbers of 16 bits")) {
    for (const DType from : {DType::f16, DType::bf16}) {
      const Owned x = of_bits(from, all_bits());
      for (const DType to : {DType::f32, from == DType::f16 ? DType::bf16 : DType::f16}) {
        expect_nearest(x, stored(x, to, isa), isa);
      }
    }
  }
}

// Midpoints between neighbours, those neighbours, and the floats beside all of them.
TEST(Convert, FloatsAreRoundedToNearest) {
  const std::vector<Isa> isas = every_isa("rounded floats");
  for (const DType to : {DType::f16, DType::bf16}) {
    std::vector<float> floats{INFINITY, -INFINITY, NAN};
    Owned one = owned(to, {1, 1, 1});
    for (std::uint32_t bits = 0; bits < (to == DType::f16 ? 0x7C00U : 0x7F80U); ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const auto next = static_cast<std::uint16_t>(bits + 1);
      std::memcpy(one.view.data, &half, 2);
      const double x = reference::read(one.view, 0);
      std::memcpy(one.view.data, &next, 2);
      double y = reference::read(one.view, 0);
      if (std::isinf(y)) y = 2 * overflow(to) - x;
      for (const double at : {x, (x + y) / 2}) {
        const auto z = static_cast<float>(at);
        for (const float beside : {std::nextafterf(z, -INFINITY), z, std::nextafterf(z, INFINITY)}) {
          floats.push_back(beside);
          floats.push_back(-beside);
        }
      }
    }
    std::vector<std::uint32_t> bits(floats.size());
    std::memcpy(bits.data(), floats.data(), 4 * floats.size());
    const Owned x = of_bits(DType::f32, bits);
    for (const Isa isa : isas) expect_nearest(x, stored(x, to, isa), isa);
  }
}

TEST(Convert, OneDtypeKeepsItsBits) {
  const Owned x = of_bits(DType::f16, all_bits());
  for (const Isa isa : every_isa("bits that are kept"))
    EXPECT_EQ(stored(x, DType::f16, isa).memory, x.memory) << name(isa);
}

}  // namespace
}  // namespace posenc::test::convert_test
