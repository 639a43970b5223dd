// Positions of every kind: far, negative, fractions; of packed sequences and batches, with a table for each.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "rotate/schemes.h"

namespace posenc::test::positions_test {
namespace {

constexpr unsigned kSeed = 31415;
constexpr std::int64_t kFar24 = (std::int64_t{1} << 24U) + 1;
constexpr std::int64_t kFar31 = std::int64_t{1} << 31U;

// Against the reference, on every instruction set.
template <typename Position>
void compare(Suite& suite, const Rope& rope, const RotaryTable& table, const std::vector<Position>& positions,
             const AngleBound& angles, std::mt19937_64& random, const std::string& where) {
  const std::int64_t rows = std::ssize(positions) / std::ssize(rope.axes.names);
  for (const DType dtype : kDTypes) {
    Heads x(laid_out(Layout::thd, dtype, {1, rows, 2, rope.head_dim}), random);
    const std::vector<std::byte> before = x.memory();
    const std::span<const Position> given(positions);
    const std::vector<double> expected = reference_of(rope, x.view(), given, Direction::forward);
    for (const Isa isa : supported_isas()) {
      (void)rotate({.q = x.view(), .positions = given, .table = &table, .isa = isa});
      suite.ran(isa);
      expect_rotated(x, before, expected, layout(rope), angles, suite, where + " " + std::string(name(isa)));
      x.restore(before);
    }
  }
}

TEST(RotatePositions, AreExactFarOut) {
  Suite suite("far positions");
  std::mt19937_64 random(kSeed);
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const Scheme& scheme : schemes(pairing, 42)) {
      const std::int64_t axes = std::ssize(scheme.rope.axes.names);
      const AngleBound angles = angle_bound(frequencies(scheme.rope).attention_factor, Direction::forward);
      std::vector<std::int64_t> far;
      for (std::int64_t axis = 0; axis < axes; ++axis) {
        for (const std::int64_t x : {kFar24, kFar24 - 2, -kFar24, kFar31, kFar31 - 1, -kFar31, std::int64_t{0}}) {
          far.push_back(x - axis);
        }
      }
      compare(suite, scheme.rope, table_on_demand(scheme.rope), far, angles, random, scheme.name);
    }
  }
  suite.expect();
}

TEST(RotatePositions, AreExactInTablesThatBeginFarOut) {
  Suite suite("far tables");
  std::mt19937_64 random(kSeed + 1);
  const Rope rope{.pairing = Pairing::half, .head_dim = 64, .dim = 64};
  for (const std::int64_t start : {kFar24 - 2, kFar31 - 3, -kFar31}) {
    const RotaryTable table = make_table(rope, {.start = start, .count = 4});
    compare(suite, rope, table, std::vector<std::int64_t>{start + 3, start, start + 2, start + 1, start}, {}, random,
            std::to_string(start));
    compare(suite, rope, table, std::vector<double>{static_cast<double>(start + 3), static_cast<double>(start)}, {},
            random, std::to_string(start));
  }
  suite.expect();
}

TEST(RotatePositions, MayBeFractionsOnDemand) {
  Suite suite("fractions");
  std::mt19937_64 random(kSeed + 2);
  const Scheme axial = schemes(Pairing::half, 12)[5];
  const RotaryTable table = table_on_demand(axial.rope);
  std::uniform_real_distribution<double> coordinates(-1024.0, 1024.0);
  std::vector<double> positions(20);
  for (double& x : positions) x = coordinates(random);
  compare(suite, axial.rope, table, positions, {}, random, axial.name);
  suite.expect();
}

// Beyond 2^31 the promise is absolute.
TEST(RotatePositions, KeepTheirAbsolutePromiseUpTo2To53) {
  Suite suite("up to 2^53");
  std::mt19937_64 random(kSeed + 3);
  const Rope rope{.pairing = Pairing::half, .head_dim = 64, .dim = 64};
  const std::int64_t last = std::int64_t{1} << 53U;
  compare(suite, rope, table_on_demand(rope),
          std::vector<std::int64_t>{last, -last, last - 1, last / 3, kFar31 * 5 + 7}, {1.0, kAngleAbsolute}, random,
          "2^53");
  suite.expect();
}

TEST(RotatePositions, MeanTheSameInEveryType) {
  std::mt19937_64 random(kSeed + 4);
  const Rope rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16};
  const RotaryTable held = make_table(rope, {.start = -3, .count = 20});
  const RotaryTable on_demand = table_on_demand(rope);
  Heads x(laid_out(Layout::thd, DType::f32, {1, 6, 2, 16}), random);
  const std::vector<std::byte> before = x.memory();
  const std::vector<std::int64_t> wide{-2, -1, 0, 1, 2, 3};
  const std::vector<std::int32_t> narrow{-2, -1, 0, 1, 2, 3};
  const std::vector<double> real{-2, -1, 0, 1, 2, 3};
  for (const RotaryTable* const table : {&held, &on_demand}) {
    std::vector<std::vector<std::uint32_t>> results;
    for (const Positions& positions :
         {Positions(PositionRange{-2}), Positions(std::span<const std::int64_t>(wide)),
          Positions(std::span<const std::int32_t>(narrow)), Positions(std::span<const double>(real))}) {
      (void)rotate({.q = x.view(), .positions = positions, .table = table});
      results.push_back(bits_of(x.view()));
      x.restore(before);
    }
    for (const auto& result : results) EXPECT_EQ(result, results.front());
  }
}

// A counted range begins anew in each sequence; lists run through them all.
TEST(RotatePositions, AreCountedFromTheBeginningOfEachPackedSequence) {
  Suite suite("packed");
  std::mt19937_64 random(kSeed + 5);
  const Rope rope{.pairing = Pairing::half, .head_dim = 24, .dim = 24};
  const RotaryTable table = make_table(rope, {.start = 0, .count = 200});
  const std::vector<std::int32_t> bounds{0, 3, 3, 80, 81};  // one of them empty, one longer than a block
  for (const DType dtype : kDTypes) {
    Heads x(laid_out(Layout::gaps, dtype, {1, 81, 2, rope.head_dim}), random);
    const std::vector<std::byte> before = x.memory();
    const std::vector<double> expected = reference_of(rope, x.view(), PositionRange{9}, Direction::forward, bounds);
    std::vector<std::int32_t> listed;
    for (std::size_t s = 1; s < bounds.size(); ++s) {
      for (std::int32_t t = bounds[s - 1]; t < bounds[s]; ++t) listed.push_back(9 + t - bounds[s - 1]);
    }
    for (const Isa isa : supported_isas()) {
      (void)rotate({.q = x.view(), .positions = PositionRange{9}, .table = &table, .cu_seqlens = bounds, .isa = isa});
      suite.ran(isa);
      expect_rotated(x, before, expected, layout(rope), {}, suite, std::string(name(isa)));
      const std::vector<std::uint32_t> counted = bits_of(x.view());
      x.restore(before);
      (void)rotate({.q = x.view(), .positions = std::span<const std::int32_t>(listed), .table = &table, .isa = isa});
      EXPECT_EQ(bits_of(x.view()), counted);
      x.restore(before);
    }
  }
  suite.expect();
}

TEST(RotatePositions, OfABatchMayBeShared) {
  std::mt19937_64 random(kSeed + 6);
  const Scheme scheme = schemes(Pairing::interleaved, 12)[3];
  const RotaryTable table = make_table(scheme.rope, {.count = 50});
  Heads x(laid_out(Layout::bthd, DType::bf16, {3, 4, 2, scheme.rope.head_dim}), random);
  const std::vector<std::byte> before = x.memory();
  const std::vector<std::int32_t> shared{1, 40, 3, 7, 0, 0, 9, 9, 5, 6, 7, 8};  // [3 axes, 4 tokens]
  std::vector<std::int32_t> own;                                                // [3 axes, 3 sequences, 4 tokens]
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (int b = 0; b < 3; ++b) own.insert(own.end(), shared.begin() + 4 * axis, shared.begin() + 4 * axis + 4);
  }
  (void)rotate({.q = x.view(), .positions = std::span<const std::int32_t>(shared), .table = &table});
  const std::vector<std::uint32_t> result = bits_of(x.view());
  x.restore(before);
  (void)rotate({.q = x.view(), .positions = std::span<const std::int32_t>(own), .table = &table});
  EXPECT_EQ(bits_of(x.view()), result);
}

// Dynamic NTK: each sequence rotates by the frequencies of its own length.
TEST(RotatePositions, MayHaveATablePerSequence) {
  std::mt19937_64 random(kSeed + 7);
  Rope rope{.pairing = Pairing::half, .head_dim = 32, .dim = 32};
  rope.scaling = DynamicScaling{.factor = 2.0, .max_position_embeddings = 64};
  const RotaryTable near = make_table(rope, {.count = 100, .length = 64});
  const RotaryTable middle = table_on_demand(rope, {.length = 100});
  const RotaryTable far = make_table(rope, {.start = 10, .count = 100, .length = 500});
  const std::vector<const RotaryTable*> tables{&near, &middle, &far};
  Heads batch(laid_out(Layout::bhtd, DType::f16, {3, 5, 2, 32}), random);
  const std::vector<std::byte> before = batch.memory();
  std::vector<std::uint32_t> one_by_one;
  for (std::int64_t b = 0; b < 3; ++b) {
    TensorView one = batch.view();
    one.shape[0] = 1;
    one.data = static_cast<std::byte*>(one.data) + b * one.strides[0] * bytes_of(DType::f16);
    (void)rotate({.q = one, .positions = PositionRange{12}, .table = tables[static_cast<std::size_t>(b)]});
  }
  one_by_one = bits_of(batch.view());
  batch.restore(before);
  (void)rotate({.q = batch.view(), .positions = PositionRange{12}, .tables = tables});
  EXPECT_EQ(bits_of(batch.view()), one_by_one);
  batch.restore(before);
  // The middle sequence, against the reference.
  TensorView middle_one = batch.view();
  middle_one.shape[0] = 1;
  middle_one.data = static_cast<std::byte*>(middle_one.data) + middle_one.strides[0] * bytes_of(DType::f16);
  const std::vector<double> old = values_of(middle_one);
  std::vector<double> expected(old.size());
  (void)reference::rotate(
      rope,
      {.out = tensor(expected.data(), {1, 2, 5, 32}), .x = middle_one, .positions = PositionRange{12}, .length = 100});
  (void)rotate({.q = batch.view(), .positions = PositionRange{12}, .tables = tables});
  const std::vector<double> now = values_of(middle_one);
  ErrorRatio ratio("a table per sequence");
  const std::vector<std::int64_t> partner = partners(layout(rope));
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::size_t other = i / 32 * 32 + static_cast<std::size_t>(partner[i % 32]);
    ratio.add(std::abs(now[i] - expected[i]),
              rotated_bound(DType::f16, old[i], old[other], expected[i], 1.0, table_error(1.0)), std::to_string(i));
  }
  ratio.expect();
}

}  // namespace
}  // namespace posenc::test::positions_test
