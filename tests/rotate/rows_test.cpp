// What a row becomes depends on the row, its angles and the instruction set alone: bits, not bounds.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "rotate/schemes.h"

namespace posenc::test::rows_test {
namespace {

constexpr unsigned kSeed = 1729;

std::vector<std::int64_t> positions_below(std::int64_t end, std::int64_t count, std::mt19937_64& random) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t& x : out) x = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
  return out;
}

// Of [axes, rows] the column of one row.
std::vector<std::int64_t> column(const std::vector<std::int64_t>& positions, std::int64_t rows, std::int64_t row) {
  std::vector<std::int64_t> out;
  for (std::size_t i = static_cast<std::size_t>(row); i < positions.size(); i += static_cast<std::size_t>(rows)) {
    out.push_back(positions[i]);
  }
  return out;
}

TEST(RotateRows, AreTheSameAloneAndInCompany) {
  Suite suite("rows alone");
  std::mt19937_64 random(kSeed);
  constexpr std::int64_t kTokens = 131;  // two blocks of 64 and some
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const Scheme& scheme : schemes(pairing, 18)) {
      const std::int64_t axes = std::ssize(scheme.rope.axes.names);
      const std::vector<std::int64_t> positions = positions_below(300, axes * kTokens, random);
      for (const DType dtype : kDTypes) {
        Heads x(laid_out(Layout::htd, dtype, {1, kTokens, 2, scheme.rope.head_dim}), random);
        const std::vector<std::byte> before = x.memory();
        for (const Isa isa : supported_isas()) {
          const RotaryTable table = make_table(scheme.rope, {.count = 300, .isa = isa});
          const RotaryTable on_demand = table_on_demand(scheme.rope);
          (void)rotate({.q = x.view(), .positions = positions, .table = &table, .isa = isa});
          const std::vector<std::uint32_t> together = bits_of(x.view());
          x.restore(before);
          (void)rotate({.q = x.view(), .positions = positions, .table = &on_demand, .isa = isa});
          EXPECT_EQ(bits_of(x.view()), together) << "on demand, " << scheme.name << ", " << name(isa);
          x.restore(before);
          for (std::int64_t t = 0; t < kTokens; ++t) {
            TensorView row = x.view();
            row.data = static_cast<std::byte*>(row.data) + t * row.strides[0] * bytes_of(dtype);
            row.shape[0] = 1;
            const std::vector<std::int64_t> own = column(positions, kTokens, t);
            (void)rotate({.k = row, .positions = own, .table = t % 2 == 0 ? &table : &on_demand, .isa = isa});
          }
          EXPECT_EQ(bits_of(x.view()), together) << "alone, " << scheme.name << ", " << name(isa);
          x.restore(before);
          suite.ran(isa);
        }
      }
    }
  }
  suite.expect_ran();
}

// The same elements in every layout, and keys beside queries as well as by themselves.
TEST(RotateRows, AreTheSameInEveryLayoutAndBesideOtherTensors) {
  Suite suite("same elements");
  std::mt19937_64 random(kSeed + 2);
  const Rope rope{.pairing = Pairing::interleaved, .head_dim = 30, .first_channel = 4, .dim = 22};
  const RotaryTable table = make_table(rope, {.count = 100});
  const Sizes sizes{1, 7, 3, rope.head_dim};
  for (const DType dtype : kDTypes) {
    for (const Isa isa : supported_isas()) {
      Heads q(laid_out(Layout::thd, dtype, {1, 7, 5, rope.head_dim}), random);
      Heads first(laid_out(Layout::thd, dtype, sizes), random);
      const std::vector<std::uint32_t> elements = bits_of(first.view());
      (void)rotate({.q = q.view(), .k = first.view(), .positions = PositionRange{11}, .table = &table, .isa = isa});
      const std::vector<std::uint32_t> rotated = bits_of(first.view());
      for (const Layout layout : {Layout::htd, Layout::gaps, Layout::reversed}) {
        Heads other(laid_out(layout, dtype, sizes), random);
        for_elements(other.view(),
                     [&](std::int64_t offset, std::size_t i) { set_bits(other.view(), offset, elements[i]); });
        (void)rotate({.k = other.view(), .positions = PositionRange{11}, .table = &table, .isa = isa});
        EXPECT_EQ(bits_of(other.view()), rotated) << name(layout) << ", " << name(isa);
      }
      suite.ran(isa);
    }
  }
  suite.expect_ran();
}

// Where a head's rows are nearer than a row's heads, the kernel rotates head by head, some rows at a time: more rows
// than it keeps angles of, and more pairs.
TEST(RotateRows, AreTheSameHeadByHead) {
  Suite suite("head by head");
  std::mt19937_64 random(kSeed + 5);
  for (const Sizes& sizes : {Sizes{1, 150, 3, 40}, {1, 4, 2, 2040}}) {
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
      const Rope rope{.pairing = pairing, .head_dim = sizes.head_dim, .first_channel = 2, .dim = sizes.head_dim - 4};
      const RotaryTable table = make_table(rope, {.count = 200});
      for (const DType dtype : kDTypes) {
        for (const Isa isa : supported_isas()) {
          Heads by_row(laid_out(Layout::thd, dtype, sizes), random);
          Heads by_head(laid_out(Layout::htd, dtype, sizes), random);
          const std::vector<std::uint32_t> elements = bits_of(by_row.view());
          for_elements(by_head.view(),
                       [&](std::int64_t offset, std::size_t i) { set_bits(by_head.view(), offset, elements[i]); });
          for (Heads* const x : {&by_row, &by_head}) {
            (void)rotate({.k = x->view(), .positions = PositionRange{11}, .table = &table, .isa = isa});
          }
          EXPECT_EQ(bits_of(by_head.view()), bits_of(by_row.view())) << sizes.head_dim << ", " << name(isa);
          suite.ran(isa);
        }
      }
    }
  }
  suite.expect_ran();
}

// Rows further apart than 2^31 elements, in memory of which a few pages exist.
TEST(RotateRows, AreTheSameFarApart) {
  std::mt19937_64 random(kSeed + 4);
  const Rope rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16};
  const RotaryTable table = make_table(rope, {.count = 100});
  constexpr std::int64_t kStride = (std::int64_t{1} << 31U) + 48;
  constexpr std::size_t kBytes = (2 * kStride + 32) * sizeof(std::uint16_t);
  void* const reserved =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) GTEST_SKIP() << "the machine does not reserve " << kBytes << " bytes";
  Heads near(laid_out(Layout::thd, DType::bf16, {1, 3, 2, 16}), random);
  TensorView far = near.view();
  far.data = reserved;
  far.strides[0] = kStride;
  const std::vector<std::uint32_t> bits = bits_of(near.view());
  for_elements(far, [&](std::int64_t offset, std::size_t i) { set_bits(far, offset, bits[i]); });
  (void)rotate({.q = far, .positions = PositionRange{5}, .table = &table});
  (void)rotate({.q = near.view(), .positions = PositionRange{5}, .table = &table});
  EXPECT_EQ(bits_of(far), bits_of(near.view()));
  munmap(reserved, kBytes);
}

// A head that is read for all heads: its stride is 0.
TEST(RotateRows, MayBeReadMoreThanOnce) {
  std::mt19937_64 random(kSeed + 3);
  const Rope rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16};
  const RotaryTable table = make_table(rope, {.count = 100});
  Heads one(laid_out(Layout::thd, DType::f32, {1, 4, 1, 16}), random);
  Heads all(laid_out(Layout::thd, DType::f32, {1, 4, 3, 16}), random);
  ConstTensorView repeated = one.view();
  repeated.shape[1] = 3;
  repeated.strides[1] = 0;
  (void)rotate({.k = all.view(), .k_from = repeated, .positions = PositionRange{5}, .table = &table});
  (void)rotate({.k = one.view(), .positions = PositionRange{5}, .table = &table});
  EXPECT_EQ(bits_of(all.view()), bits_of(repeated));
}

}  // namespace
}  // namespace posenc::test::rows_test
