// Weights are read twice, once by the reference and once by the lowering: the same numbers, of every dtype and stride.
#include "cpu/lower/weight_reader.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "posenc/reference.h"
#include "support/random_tensor.h"

namespace posenc::test::weight_reader_test {
namespace {

void expect_same(double is, double wanted, std::int64_t n) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(is)) << n;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(is), std::bit_cast<std::uint64_t>(wanted)) << n;
  }
}

TEST(WeightReader, ReadsEveryNumberOf16Bits) {
  std::vector<std::uint16_t> bits(1 << 16);
  for (std::size_t n = 0; n < bits.size(); ++n) bits[n] = static_cast<std::uint16_t>(n);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const ConstTensorView view = tensor(static_cast<const void*>(bits.data()), dtype, {1 << 16});
    const std::vector<double> all = cpu::read_all(view);
    for (std::int64_t n = 0; n < 1 << 16; ++n) {
      const double wanted = reference::element(view, {n});
      expect_same(cpu::read(view, {n}), wanted, n);
      expect_same(all[static_cast<std::size_t>(n)], wanted, n);
    }
  }
}

TEST(WeightReader, FollowsStrides) {
  Random random(7);
  const Tensor made = random_tensor(random, {4, 6, 5});
  ConstTensorView part = transposed(ConstTensorView(made), 0, 2);  // [5, 6, 4]
  part.strides[1] *= 2;
  part.shape[1] = 3;
  const std::vector<double> all = cpu::read_all(part);
  std::size_t n = 0;
  for (std::int64_t a = 0; a < 5; ++a) {
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ(all[n++], reference::element(part, {a, b, c}));
    }
  }
  EXPECT_EQ(n, all.size());
}

TEST(WeightReader, ExchangesAxes) {
  Random random(8);
  const Tensor made = random_tensor(random, {4, 6});
  const std::vector<double> rotated = cpu::read_transposed(made);
  for (std::int64_t a = 0; a < 6; ++a) {
    for (std::int64_t b = 0; b < 4; ++b) {
      EXPECT_EQ(rotated[static_cast<std::size_t>(a * 4 + b)], reference::element(made, {b, a}));
    }
  }
}

}  // namespace
}  // namespace posenc::test::weight_reader_test
