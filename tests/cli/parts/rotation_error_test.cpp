// The judge of `posenc rotate --check` and `posenc demo`: what is right passes, and what is a little wrong does not.
#include "rotate/rotation_error.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "rotate/rotated_rows.h"
#include "support/tolerances.h"

namespace posenc::tool::rotation_error_test {
namespace {

constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kHeadDim = 16;
constexpr std::int64_t kDim = 12;  // the last four channels do not rotate

Rope rope_of(Scaling scaling = {}) {
  return {.pairing = Pairing::half, .head_dim = kHeadDim, .dim = kDim, .base = 1e4, .scaling = std::move(scaling)};
}

// Elements of a dtype, [kTokens, kHeads, kHeadDim].
class Heads {
 public:
  explicit Heads(DType dtype, double scale = 1.0) : dtype_(dtype), bytes_(kCount * width()) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal(0.0, scale);
    for (std::size_t i = 0; i < kCount; ++i) set(i, normal(random));
  }

  TensorView view() { return tensor(bytes_.data(), dtype_, {kTokens, kHeads, kHeadDim}); }
  // Of f32 and bf16, cut.
  void set(std::size_t i, double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const std::uint64_t stored = dtype_ == DType::bf16 ? bits >> 16U : bits;  // as wide as any dtype
    std::memcpy(bytes_.data() + i * width(), &stored, width());
  }
  // So many units in the last place away from 0.
  void step(std::size_t i, int units) {
    std::uint64_t stored = 0;
    std::memcpy(&stored, bytes_.data() + i * width(), width());
    stored += static_cast<std::uint64_t>(units);
    std::memcpy(bytes_.data() + i * width(), &stored, width());
  }
  double value(std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    return reference::element(view(), {at / (kHeads * kHeadDim), at / kHeadDim % kHeads, at % kHeadDim});
  }

 private:
  static constexpr std::size_t kCount = kTokens * kHeads * kHeadDim;
  std::size_t width() const { return static_cast<std::size_t>(bytes_of(dtype_)); }

  DType dtype_;
  std::vector<std::byte> bytes_;
};

RowPositions counted_from(std::int64_t start) { return {{.values = start}, {"t"}, 1, kTokens, 0}; }

struct Judged {
  Heads heads;
  RowSample before;
};

Judged rotated(Heads heads, const RotationAsked& rotation, const RowPositions& positions) {
  RowSample before(heads.view(), spread_rows(1, kTokens, kTokens));
  rotate_rows({.q = heads.view()}, rotation, positions, [](std::int64_t, std::int64_t) {});
  return {std::move(heads), std::move(before)};
}

TEST(RotationError, WhatRotateMakesKeepsTheBound) {
  const std::vector<Scaling> rules{{}, YarnScaling{.factor = 40, .original_max_position_embeddings = 4096}};
  for (const DType dtype : {DType::f32, DType::bf16}) {
    test::ErrorRatio ratio("posenc's own judge, " + std::string(name(dtype)));
    for (const Scaling& rule : rules) {
      for (const Direction direction : {Direction::forward, Direction::inverse, Direction::transpose}) {
        for (const std::int64_t start : {std::int64_t{0}, std::int64_t{100000}, (std::int64_t{1} << 31) - kTokens}) {
          const RotationAsked rotation{.rope = rope_of(rule), .direction = direction};
          const RowPositions positions = counted_from(start);
          Judged made = rotated(Heads(dtype), rotation, positions);
          const RotationError error = made.before.judge(made.heads.view(), rotation, positions);
          EXPECT_EQ(error.values, kTokens * kHeads * kDim);
          EXPECT_LT(error.ulp, 3.0);
          ratio.add(error.over_bound, 1.0, std::to_string(start));
        }
      }
    }
    ratio.expect();
  }
}

// The model's own steps, which the judge takes too; where the two come out a unit apart, all of the bound is needed.
TEST(RotationError, TheModelsArithmeticsKeepTheirBounds) {
  for (const Angles angles : {Angles::float32, Angles::bfloat16}) {
    test::ErrorRatio ratio(angles == Angles::float32 ? "the judge of float32's angles"
                                                     : "the judge of bfloat16's angles");
    for (const Scaling& rule :
         {Scaling{}, Scaling{YarnScaling{.factor = 40, .original_max_position_embeddings = 4096}}}) {
      for (const Direction direction : {Direction::forward, Direction::inverse, Direction::transpose}) {
        for (const std::int64_t start : {131072, 100000, 5, 0}) {
          const RotationAsked rotation{.rope = rope_of(rule), .direction = direction, .angles = angles};
          const RowPositions positions = counted_from(start);
          Judged made = rotated(Heads(DType::f32), rotation, positions);
          ratio.add(made.before.judge(made.heads.view(), rotation, positions).over_bound, 1.0, std::to_string(start));
          const RotationAsked exact{.rope = rope_of(rule), .direction = direction};
          if (start <= 5) continue;
          EXPECT_GT(made.before.judge(made.heads.view(), exact, positions).over_bound, 1.0);
        }
      }
    }
    ratio.expect();
  }
}

TEST(RotationError, AUnitOrTwoAreBeyondTheBound) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const RotationAsked rotation{.rope = rope_of()};
    const RowPositions positions = counted_from(3);
    Judged made = rotated(Heads(dtype), rotation, positions);
    std::size_t at = (2 * kHeads + 1) * kHeadDim + 5;
    if (std::abs(made.heads.value(at)) < std::abs(made.heads.value(at + kDim / 2))) at += kDim / 2;  // its partner
    made.heads.step(at, dtype == DType::f32 ? 4 : 2);
    const RotationError error = made.before.judge(made.heads.view(), rotation, positions);
    EXPECT_GT(error.over_bound, 1.0);
    EXPECT_EQ((std::vector{error.row.token, error.head, error.channel}),
              (std::vector<std::int64_t>{2, 1, static_cast<std::int64_t>(at) % kHeadDim}));
  }
}

TEST(RotationError, AnotherRotationIsFarBeyondTheBound) {
  const RowPositions positions = counted_from(3);
  const RotationAsked rotation{.rope = rope_of()};
  Judged made = rotated(Heads(DType::bf16), rotation, positions);
  Rope other = rope_of();
  other.pairing = Pairing::interleaved;
  EXPECT_GT(made.before.judge(made.heads.view(), {.rope = other}, positions).over_bound, 10.0);
  EXPECT_GT(made.before.judge(made.heads.view(), rotation, counted_from(4)).over_bound, 10.0);
}

TEST(RotationError, ChannelsThatDoNotRotateMustStay) {
  const RowPositions positions = counted_from(0);
  const RotationAsked rotation{.rope = rope_of()};
  Judged made = rotated(Heads(DType::f32), rotation, positions);
  made.heads.step(kDim + 1, 1);
  const RotationError error = made.before.judge(made.heads.view(), rotation, positions);
  EXPECT_TRUE(std::isinf(error.over_bound));
  EXPECT_EQ(error.channel, kDim + 1);
}

TEST(RotationError, NumbersThatAreNotFinite) {
  const RowPositions positions = counted_from(1);
  const RotationAsked rotation{.rope = rope_of()};
  Heads heads(DType::f32);
  heads.set(0, std::numeric_limits<double>::infinity());
  Judged made = rotated(std::move(heads), rotation, positions);
  RotationError error = made.before.judge(made.heads.view(), rotation, positions);
  EXPECT_LE(error.over_bound, 1.0);
  EXPECT_EQ(error.not_finite, 1);
  made.heads.set(2, std::numeric_limits<double>::quiet_NaN());  // where all was finite
  error = made.before.judge(made.heads.view(), rotation, positions);
  EXPECT_TRUE(std::isinf(error.over_bound));
}

// Near the end of the format a pair may rotate beyond it: right, and no output to go on with.
TEST(RotationError, FiniteInputsThatGiveInfiniteOutputsFail) {
  const RowPositions positions = counted_from(1);
  const RotationAsked rotation{.rope = rope_of()};
  Heads heads(DType::bf16);
  heads.set(0, 3e38);
  heads.set(kDim / 2, -3e38);
  Judged made = rotated(std::move(heads), rotation, positions);
  ASSERT_TRUE(std::isinf(made.heads.value(0)));
  EXPECT_TRUE(std::isinf(made.before.judge(made.heads.view(), rotation, positions).over_bound));
}

TEST(SpreadRows, AreEvenWithBothEnds) {
  const auto tokens = [](std::int64_t batch, std::int64_t all, std::int64_t most) {
    std::vector<std::int64_t> out;
    for (const Row& row : spread_rows(batch, all, most)) out.push_back(row.sequence * all + row.token);
    return out;
  };
  EXPECT_EQ(tokens(1, 5, 9), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(tokens(2, 5, 4), (std::vector<std::int64_t>{0, 3, 6, 9}));
  EXPECT_EQ(tokens(1, 0, 4), (std::vector<std::int64_t>{}));
  EXPECT_EQ(tokens(1, 7, 1), (std::vector<std::int64_t>{0}));
  const std::int64_t huge = std::int64_t{1} << 60;
  EXPECT_EQ(tokens(1, huge, 3), (std::vector<std::int64_t>{0, (huge - 1) / 2, huge - 1}));
}

}  // namespace
}  // namespace posenc::tool::rotation_error_test
