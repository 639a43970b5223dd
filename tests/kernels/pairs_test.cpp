// Products of bfloat16: of tiles on a model of AMX's, to the bit, and of each instruction set that has them, against
// double; what they take, and what they leave alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "kernels/tile_model.h"
#include "support/guarded_memory.h"
#include "support/pair_tolerances.h"

namespace posenc::test::pairs_test {
namespace {

using kernels::PairProduct;

constexpr std::uint32_t kSeed = 20250311;

struct Shape {
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t lanes;
  std::int64_t gap = 0;  // elements between rows of a
  bool scales = false;
  bool multiplies = false;
  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(depth) + " x " + std::to_string(lanes) + ", seed " +
           std::to_string(kSeed);
  }
};

// Each number of rows, of pairs and of lanes meets whole tiles, what is left of one, and both.
std::vector<Shape> shapes() {
  std::vector<Shape> out;
  bool rotation = false;
  for (const std::int64_t rows : {1, 15, 16, 17, 32, 33, 64}) {
    for (const std::int64_t depth : {2, 30, 32, 34, 80, 128}) {
      for (const std::int64_t lanes : {16, 32, 48}) {
        out.push_back({rows, depth, lanes, depth % 3, rotation, rows % 2 == 0});
        rotation = !rotation;
      }
    }
  }
  return out;
}

std::uint16_t bf16(float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16U); }

// Operands between pages that nobody may touch: each begins right behind one, or ends right before.
class Operands {
 public:
  Operands(const Shape& s, Edge edge)
      : shape_(s),
        a_(((s.rows - 1) * (s.depth + s.gap) + s.depth) * 2, edge, 0),
        b_((s.depth / 2 + kernels::kPairRows - 1) / kernels::kPairRows * kernels::kPairRows * s.lanes * 4, edge, 0),
        c_(s.rows * s.lanes * 4, edge, 0),
        scale_(static_cast<std::size_t>(s.lanes)),
        by_(static_cast<std::size_t>(s.lanes)) {
    std::mt19937 random(kSeed);
    std::uniform_real_distribution<float> number(-1.0F, 1.0F);
    std::fill_n(a_.data(), a_.end() - a_.data(), std::byte{0xFF});  // NaN between the rows
    std::fill_n(b_.data(), b_.end() - b_.data(), std::byte{0});
    for (std::int64_t r = 0; r < s.rows; ++r) {
      for (std::int64_t k = 0; k < s.depth; ++k) a()[r * a_row() + k] = bf16(number(random));
    }
    for (std::int64_t n = 0; n < s.depth / 2 * s.lanes; ++n) {
      b()[n] = std::uint32_t{bf16(number(random))} | std::uint32_t{bf16(number(random))} << 16U;
    }
    for (std::int64_t n = 0; n < s.rows * s.lanes; ++n) c()[n] = number(random);
    for (float& x : scale_) x = number(random);
    for (float& x : by_) x = number(random);
  }

  std::uint16_t* a() { return reinterpret_cast<std::uint16_t*>(a_.data()); }
  std::uint32_t* b() { return reinterpret_cast<std::uint32_t*>(b_.data()); }
  float* c() { return reinterpret_cast<float*>(c_.data()); }
  std::int64_t a_row() const { return shape_.depth + shape_.gap; }
  float scale(std::int64_t lane) const { return shape_.scales ? scale_[static_cast<std::size_t>(lane)] : 0.0F; }
  float by(std::int64_t lane) const { return shape_.multiplies ? by_[static_cast<std::size_t>(lane)] : 1.0F; }

  PairProduct product() {
    return {.a = a(),
            .a_row = a_row(),
            .b = b(),
            .c = c(),
            .scale = shape_.scales ? scale_.data() : nullptr,
            .by = shape_.multiplies ? by_.data() : nullptr,
            .rows = shape_.rows,
            .depth = shape_.depth,
            .lanes = shape_.lanes};
  }

 private:
  Shape shape_;
  GuardedMemory a_, b_, c_;
  std::vector<float> scale_, by_;
};

TEST(Tiles, MultiplyInTheOrderOfTheManual) {
  for (const Shape& shape : shapes()) {
    for (const Edge edge : {Edge::begin, Edge::end}) {
      SCOPED_TRACE(shape.name());
      Operands x(shape, edge);
      std::vector<float> wanted;
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        for (std::int64_t l = 0; l < shape.lanes; ++l) {
          float sum = shape.scales ? x.c()[r * shape.lanes + l] * x.scale(l) : 0.0F;
          for (std::int64_t k = 0; k < shape.depth; k += kernels::kTileDepth) {
            const std::int64_t pairs = std::min(shape.depth - k, kernels::kTileDepth) / 2;
            sum = tile_sum(x.a() + r * x.a_row() + k, pairs, x.b() + k / 2 * shape.lanes + l, shape.lanes, sum);
          }
          wanted.push_back(sum * x.by(l));
        }
      }
      kernels::tile_product<TileModel>(x.product());
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), x.c()));
    }
  }
}

TEST(Tiles, TouchNoMoreThanTheirConfigurationSays) {
  std::array<TileModel::Tile, 8> tiles{};
  tiles[0] = {.rows = 3, .row_bytes = 8};
  tiles[4] = {.rows = 3, .row_bytes = 20};
  tiles[6] = {.rows = 5, .row_bytes = 8};
  TileModel model(tiles);
  std::vector<std::uint16_t> a(30, bf16(2.0F));
  std::vector<std::uint32_t> b(10, std::uint32_t{bf16(0.5F)} | std::uint32_t{bf16(3.0F)} << 16U);
  std::vector<float> c(9, 7.0F);
  model.load<4>(a.data(), 20);
  model.load<6>(b.data(), 8);
  model.zero<0>();
  model.multiply_add<0, 4, 6>();
  model.store<0>(c.data(), 12);
  const float sum = 5 * (2.0F * 0.5F + 2.0F * 3.0F);
  EXPECT_EQ(c, (std::vector<float>{sum, sum, 7, sum, sum, 7, sum, sum, 7}));
  EXPECT_THROW((model.multiply_add<0, 6, 4>()), std::logic_error);
}

std::vector<float> numbers(std::int64_t count) {
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> number(-1.0F, 1.0F);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = number(random);
  return out;
}

// The kernels of `isa`, where it has products of bfloat16.
std::vector<cpu::IsaKernels> isas_with_pairs() {
  std::vector<cpu::IsaKernels> out = cpu::runnable_kernels();
  std::erase_if(out, [](const cpu::IsaKernels& isa) { return isa.table.pairs == nullptr; });
  std::string names;
  for (const cpu::IsaKernels& isa : out) names += " " + std::string(name(isa.isa));
  std::printf("[  isas    ] products of bfloat16:%s\n", names.empty() ? " none" : names.c_str());
  return out;
}

TEST(Pairs, AreProductsOnEveryInstructionSet) {
  for (const cpu::IsaKernels& isa : isas_with_pairs()) {
    ErrorRatio ratio("products of bfloat16, " + std::string(name(isa.isa)));
    for (const Shape& shape : shapes()) {
      for (const Edge edge : {Edge::begin, Edge::end}) {
        Operands x(shape, edge);
        std::vector<double> wanted;
        std::vector<double> sizes;
        for (std::int64_t r = 0; r < shape.rows; ++r) {
          for (std::int64_t l = 0; l < shape.lanes; ++l) {
            double sum = static_cast<double>(x.c()[r * shape.lanes + l]) * x.scale(l);
            double size = std::abs(sum);
            for (std::int64_t k = 0; k < shape.depth; ++k) {
              const std::uint32_t word = x.b()[k / 2 * shape.lanes + l];
              const auto half = static_cast<std::uint16_t>(k % 2 == 0 ? word : word >> 16U);
              const double product = static_cast<double>(float_of_bf16(x.a()[r * x.a_row() + k])) * float_of_bf16(half);
              sum += product;
              size += std::abs(product);
            }
            wanted.push_back(sum * x.by(l));
            sizes.push_back(size * std::abs(x.by(l)));
          }
        }
        isa.table.pairs->product(x.product());
        for (std::size_t n = 0; n < wanted.size(); ++n) {
          ratio.add(std::abs(x.c()[n] - wanted[n]), paired_product(sizes[n], static_cast<double>(shape.depth)),
                    shape.name());
        }
      }
    }
    ratio.expect();
  }
}

// Keys between pages that nobody may touch, NaN between the rows, and channels that are no whole pair or register.
TEST(Pairs, AreDotsOfDecode) {
  constexpr std::int64_t kHeads = 2;
  constexpr std::int64_t kEach = 2 * kernels::kDecodeLanes;
  constexpr std::int64_t kLanes = kHeads * kEach;
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> number(-1.0F, 1.0F);
  for (const cpu::IsaKernels& isa : isas_with_pairs()) {
    if (isa.table.pairs->decode_dots == nullptr) continue;
    ErrorRatio ratio("dots of bfloat16, " + std::string(name(isa.isa)));
    for (const std::int64_t rows : {1, 3, 4, 9}) {
      for (const std::int64_t depth : {1, 31, 32, 33, 80, 128}) {
        for (const Edge edge : {Edge::begin, Edge::end}) {
          const std::string shape = std::to_string(rows) + " x " + std::to_string(depth);
          const std::int64_t a_row = kHeads * depth + 3;
          GuardedMemory keys((rows * a_row - 3) * 2, edge, 0);
          GuardedMemory queries(kLanes * depth * 2, edge, 0);
          auto* const a = reinterpret_cast<std::uint16_t*>(keys.data());
          auto* const b = reinterpret_cast<std::uint16_t*>(queries.data());
          std::fill_n(keys.data(), keys.end() - keys.data(), std::byte{0xFF});
          for (std::int64_t n = 0; n < kLanes * depth; ++n) b[n] = bf16(number(random));
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t k = 0; k < kHeads * depth; ++k) a[r * a_row + k] = bf16(number(random));
          }
          const std::vector<float> by = numbers(kLanes);
          std::vector<float> c(static_cast<std::size_t>(rows * kLanes), std::numeric_limits<float>::quiet_NaN());
          isa.table.pairs->decode_dots({.of = {.element = kernels::Element::bf16,
                                               .a = a,
                                               .a_row = a_row,
                                               .a_head = depth,
                                               .c = c.data(),
                                               .rows = rows,
                                               .depth = depth,
                                               .lanes = kLanes,
                                               .heads = kHeads,
                                               .each = kEach},
                                        .b = b,
                                        .by = by.data()});
          for (std::int64_t n = 0; n < rows * kLanes; ++n) {
            const std::int64_t l = n % kLanes;
            double sum = 0.0;
            double size = 0.0;
            for (std::int64_t k = 0; k < depth; ++k) {
              const std::uint16_t key = a[n / kLanes * a_row + l / kEach * depth + k];
              const double product = static_cast<double>(float_of_bf16(key)) * float_of_bf16(b[l * depth + k]);
              sum += product;
              size += std::abs(product);
            }
            const double factor = by[static_cast<std::size_t>(l)];
            ratio.add(std::abs(c[static_cast<std::size_t>(n)] - sum * factor),
                      paired_product(size * std::abs(factor), static_cast<double>(depth)), shape);
          }
        }
      }
    }
    ratio.expect();
  }
}

// Sums that are exact in any order: tiles and registers give the same bits.
TEST(Pairs, AreTheModelWhereNothingRounds) {
  for (const cpu::IsaKernels& isa : isas_with_pairs()) {
    for (const Shape& shape : shapes()) {
      Operands x(shape, Edge::end);
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        for (std::int64_t k = 0; k < shape.depth; ++k) {
          x.a()[r * x.a_row() + k] = bf16(static_cast<float>((r + k) % 7 - 3));
        }
      }
      for (std::int64_t n = 0; n < shape.depth / 2 * shape.lanes; ++n) {
        x.b()[n] = std::uint32_t{bf16(static_cast<float>(n % 5 - 2))} |
                   std::uint32_t{bf16(static_cast<float>(n % 11 - 5))} << 16U;
      }
      PairProduct product = x.product();
      product.scale = product.by = nullptr;
      isa.table.pairs->product(product);
      const std::vector<float> is(x.c(), x.c() + shape.rows * shape.lanes);
      kernels::tile_product<TileModel>(product);
      EXPECT_TRUE(std::equal(is.begin(), is.end(), x.c())) << name(isa.isa) << ", " << shape.name();
    }
  }
}

// Tiles of the machine sum in the manual's order, whatever rounds.
TEST(Pairs, OfTilesAreTheModelToTheBit) {
  std::vector<cpu::IsaKernels> isas = cpu::runnable_kernels();
  std::erase_if(isas, [](const cpu::IsaKernels& isa) { return isa.isa != Isa::amx; });
  if (isas.empty()) GTEST_SKIP() << "this machine has no AMX";
  for (const Shape& shape : shapes()) {
    for (const Edge edge : {Edge::begin, Edge::end}) {
      Operands is(shape, edge);
      Operands wanted(shape, edge);
      isas.front().table.pairs->product(is.product());
      kernels::tile_product<TileModel>(wanted.product());
      EXPECT_TRUE(std::equal(is.c(), is.c() + shape.rows * shape.lanes, wanted.c())) << shape.name();
    }
  }
}

// 2^-126 is the least that counts, of what is multiplied and of what is summed.
TEST(Pairs, CountDenormalNumbersAsZero) {
  constexpr std::uint16_t kDenormal = 0x007F;
  const auto sum_of = [](auto product, std::uint16_t a, float b, float c) {
    const std::vector<std::uint16_t> row{a, 0};
    std::vector<std::uint32_t> words(kernels::kPairRows * 16);
    for (std::size_t l = 0; l < 16; ++l) words[l] = bf16(b);
    std::vector<float> sums(16, c);
    const std::vector<float> scale(16, 1.0F);
    product(PairProduct{.a = row.data(),
                        .a_row = 2,
                        .b = words.data(),
                        .c = sums.data(),
                        .scale = scale.data(),
                        .rows = 1,
                        .depth = 2,
                        .lanes = 16});
    return sums[5];
  };
  const auto check = [&](auto product) {
    EXPECT_EQ(sum_of(product, kDenormal, 0x1p100F, 1.0F), 1.0F);
    EXPECT_EQ(sum_of(product, bf16(0x1p-70F), 0x1p-70F, 0.0F), 0.0F);
    EXPECT_EQ(sum_of(product, bf16(0x1p-26F), 0x1p-100F, 0.0F), 0x1p-126F);
  };
  check(kernels::tile_product<TileModel>);
  for (const cpu::IsaKernels& isa : isas_with_pairs()) {
    SCOPED_TRACE(name(isa.isa));
    check(isa.table.pairs->product);
  }
}

std::uint16_t nearest_bf16(float x) {
  return static_cast<std::uint16_t>(
      (std::bit_cast<std::uint32_t>(x) + 0x7FFFU + (std::bit_cast<std::uint32_t>(x) >> 16U & 1U)) >> 16U);
}

TEST(Pairs, AreMadeOfRows) {
  constexpr std::int64_t kLanes = 48;
  for (const cpu::IsaKernels& isa : isas_with_pairs()) {
    for (const std::int64_t rows : {1, 2, 31, 32, 33, 40, 63, 64}) {
      SCOPED_TRACE(std::to_string(rows) + " rows");
      const std::vector<float> x = numbers(rows * kLanes);
      const std::int64_t all = (rows + 2 * kernels::kPairRows - 1) / (2 * kernels::kPairRows) * kernels::kPairRows;
      std::vector<std::uint32_t> words(static_cast<std::size_t>(all * kLanes), 0xFFFFFFFFU);
      std::vector<float> sum(kLanes, 0.25F);
      isa.table.pairs->rows({.x = x.data(), .rows = rows, .lanes = kLanes, .to = words.data(), .sum = sum.data()});
      std::vector<std::uint32_t> wanted(words.size());
      std::vector<float> sums(kLanes, 0.25F);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t l = 0; l < kLanes; ++l) {
          const std::uint16_t rounded = nearest_bf16(x[static_cast<std::size_t>(r * kLanes + l)]);
          wanted[static_cast<std::size_t>(r / 2 * kLanes + l)] |= std::uint32_t{rounded} << (r % 2 == 0 ? 0U : 16U);
          sums[static_cast<std::size_t>(l)] += float_of_bf16(rounded);
        }
      }
      EXPECT_EQ(words, wanted);
      EXPECT_EQ(sum, sums);
    }
  }
}

TEST(Pairs, AreMadeOfColumns) {
  for (const cpu::IsaKernels& isa : isas_with_pairs()) {
    for (const std::int64_t rows : {1, 31, 32, 33, 64}) {
      for (const std::int64_t width : {1, 15, 16, 17, 72}) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
        const std::int64_t stride = width + 3;
        const std::vector<float> x = numbers(rows * stride);
        std::vector<std::uint16_t> columns(static_cast<std::size_t>(width * kernels::kPairColumns), 0xFFFF);
        isa.table.pairs->columns({.x = x.data(), .x_row = stride, .rows = rows, .width = width, .to = columns.data()});
        std::vector<std::uint16_t> wanted(columns.size());
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < width; ++c) {
            wanted[static_cast<std::size_t>(c * kernels::kPairColumns + r)] =
                nearest_bf16(x[static_cast<std::size_t>(r * stride + c)]);
          }
        }
        EXPECT_EQ(columns, wanted);
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::pairs_test
