// What makes it a rotation: lengths, inverses, sums of angles, dot products of relative positions, adjoints.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "rotate/schemes.h"

namespace posenc::test::properties_test {
namespace {

constexpr unsigned kSeed = 2718;
constexpr std::int64_t kRows = 24;

// The elements of a tensor, and how far each may be from what it stands for.
struct Measured {
  std::vector<double> x;
  std::vector<double> bound;
};

Measured exactly(const TensorView& view) {
  Measured out{values_of(view), {}};
  out.bound.resize(out.x.size());
  return out;
}

// What each test is run with: every instruction set, scheme and dtype.
struct Setting {
  Rope rope;
  RotaryTable table = table_on_demand(rope);
  double factor = table.attention_factor();
  std::vector<std::int64_t> partner = partners(layout(rope));
  Isa isa = Isa::automatic;
  std::string name{};

  // Rotates the rows [kRows, 1, head_dim] of a tensor. Errors that they came with are rotated along.
  Measured rotate_rows(const TensorView& view, const Measured& old, std::span<const std::int64_t> positions,
                       Direction direction) const {
    (void)rotate({.k = view, .positions = positions, .table = &table, .direction = direction, .isa = isa});
    const AngleBound angles = angle_bound(factor, direction);
    Measured out{values_of(view), std::vector<double>(old.x.size())};
    for (std::size_t i = 0; i < old.x.size(); ++i) {
      const std::int64_t other = partner[i % partner.size()];
      if (other < 0) continue;
      const std::size_t j = i - i % partner.size() + static_cast<std::size_t>(other);
      out.bound[i] = angles.size * std::hypot(old.bound[i], old.bound[j]) +
                     rotated_bound(view.dtype, old.x[i], old.x[j], out.x[i], angles.size, angles.error);
    }
    return out;
  }
  Measured rotate_rows(const TensorView& view, std::span<const std::int64_t> positions, Direction direction) const {
    return rotate_rows(view, exactly(view), positions, direction);
  }
};

template <typename Body>
void for_settings(Suite& suite, const Body& body) {
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    for (const Scheme& scheme : schemes(pairing, 18)) {
      Setting setting{.rope = scheme.rope};
      for (const Isa isa : supported_isas()) {
        setting.isa = isa;
        setting.name = scheme.name + std::string(", ") + std::string(name(isa));
        for (const DType dtype : kDTypes) body(setting, dtype);
        suite.ran(isa);
      }
    }
  }
}

Heads rows_of(const Setting& setting, DType dtype, std::mt19937_64& random) {
  return {laid_out(Layout::thd, dtype, {1, kRows, 1, setting.rope.head_dim}), random};
}

// [axes, kRows]
std::vector<std::int64_t> positions_of(const Setting& setting, std::mt19937_64& random) {
  std::vector<std::int64_t> out(setting.rope.axes.names.size() * kRows);
  for (std::int64_t& x : out) x = static_cast<std::int64_t>(random() % 200000) - 100000;
  return out;
}

std::vector<std::int64_t> sum(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> out(a.size());
  std::ranges::transform(a, b, out.begin(), std::plus<>());
  return out;
}

// Of one row, its channels that rotate; and how far it may be off.
struct Dot {
  double value = 0.0;
  double bound = 0.0;
};
Dot dot(const Setting& setting, const Measured& a, const Measured& b, std::size_t row) {
  Dot out;
  const std::size_t channels = setting.partner.size();
  for (std::size_t i = row * channels; i < (row + 1) * channels; ++i) {
    if (setting.partner[i % channels] < 0) continue;
    out.value += a.x[i] * b.x[i];
    out.bound += a.bound[i] * std::abs(b.x[i]) + b.bound[i] * std::abs(a.x[i]) + a.bound[i] * b.bound[i];
    out.bound += static_cast<double>(channels) * kDoubleRounding * std::abs(a.x[i] * b.x[i]);
  }
  return out;
}

TEST(RotateProperties, LengthsOfPairsAreKeptTimesTheAttentionFactor) {
  Suite suite("lengths");
  std::mt19937_64 random(kSeed);
  for_settings(suite, [&](const Setting& setting, DType dtype) {
    Heads x = rows_of(setting, dtype, random);
    const Measured old = exactly(x.view());
    const Measured now = setting.rotate_rows(x.view(), positions_of(setting, random), Direction::forward);
    for (std::size_t i = 0; i < old.x.size(); ++i) {
      const std::int64_t other = setting.partner[i % setting.partner.size()];
      if (other < 0) continue;
      const std::size_t j = i - i % setting.partner.size() + static_cast<std::size_t>(other);
      suite.ratio(dtype).add(std::abs(std::hypot(now.x[i], now.x[j]) - setting.factor * std::hypot(old.x[i], old.x[j])),
                             std::hypot(now.bound[i], now.bound[j]), setting.name);
    }
  });
  suite.expect();
}

TEST(RotateProperties, TheInverseUndoesTheForward) {
  Suite suite("inverse");
  std::mt19937_64 random(kSeed + 1);
  for_settings(suite, [&](const Setting& setting, DType dtype) {
    Heads x = rows_of(setting, dtype, random);
    const std::vector<double> old = values_of(x.view());
    const std::vector<std::int64_t> positions = positions_of(setting, random);
    const Measured rotated = setting.rotate_rows(x.view(), positions, Direction::forward);
    const Measured back = setting.rotate_rows(x.view(), rotated, positions, Direction::inverse);
    for (std::size_t i = 0; i < old.size(); ++i) {
      suite.ratio(dtype).add(std::abs(back.x[i] - old[i]), back.bound[i], setting.name);
    }
  });
  suite.expect();
}

TEST(RotateProperties, TwoRotationsAreOneByTheSum) {
  Suite suite("composition");
  std::mt19937_64 random(kSeed + 2);
  for_settings(suite, [&](const Setting& setting, DType dtype) {
    if (setting.factor != 1.0) return;
    Heads x = rows_of(setting, dtype, random);
    const std::vector<std::int64_t> a = positions_of(setting, random);
    const std::vector<std::int64_t> b = positions_of(setting, random);
    const std::vector<std::int64_t> both = sum(a, b);
    const std::vector<double> expected = reference_of(setting.rope, x.view(), both, Direction::forward);
    const Measured once = setting.rotate_rows(x.view(), a, Direction::forward);
    const Measured twice = setting.rotate_rows(x.view(), once, b, Direction::forward);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      suite.ratio(dtype).add(std::abs(twice.x[i] - expected[i]), twice.bound[i], setting.name);
    }
  });
  suite.expect();
}

TEST(RotateProperties, DotProductsDependOnRelativePositionsAlone) {
  Suite suite("relative positions");
  std::mt19937_64 random(kSeed + 3);
  for_settings(suite, [&](const Setting& setting, DType dtype) {
    Heads q = rows_of(setting, dtype, random);
    Heads k = rows_of(setting, dtype, random);
    const std::vector<std::byte> q_before = q.memory();
    const std::vector<std::byte> k_before = k.memory();
    const std::vector<std::int64_t> i = positions_of(setting, random);
    const std::vector<std::int64_t> j = positions_of(setting, random);
    const std::vector<std::int64_t> shift = positions_of(setting, random);
    const Measured q_here = setting.rotate_rows(q.view(), i, Direction::forward);
    const Measured k_here = setting.rotate_rows(k.view(), j, Direction::forward);
    q.restore(q_before);
    k.restore(k_before);
    const Measured q_there = setting.rotate_rows(q.view(), sum(i, shift), Direction::forward);
    const Measured k_there = setting.rotate_rows(k.view(), sum(j, shift), Direction::forward);
    for (std::size_t row = 0; row < kRows; ++row) {
      const Dot here = dot(setting, q_here, k_here, row);
      const Dot there = dot(setting, q_there, k_there, row);
      suite.ratio(dtype).add(std::abs(here.value - there.value), here.bound + there.bound, setting.name);
    }
  });
  suite.expect();
}

// To the bit: every step of an angle is odd.
TEST(RotateProperties, ClockwiseIsCounterclockwiseToTheNegatedPosition) {
  Suite suite("clockwise");
  std::mt19937_64 random(kSeed + 5);
  for_settings(suite, [&](const Setting& setting, DType dtype) {
    Rope other = setting.rope;
    other.rotation_direction = setting.rope.rotation_direction == RotationDirection::clockwise
                                   ? RotationDirection::counterclockwise
                                   : RotationDirection::clockwise;
    const RotaryTable table = table_on_demand(other);
    Heads x = rows_of(setting, dtype, random);
    const std::vector<std::byte> before = x.memory();
    const std::vector<std::int64_t> positions = positions_of(setting, random);
    std::vector<std::int64_t> negated = positions;
    for (std::int64_t& position : negated) position = -position;
    (void)rotate({.k = x.view(), .positions = positions, .table = &table, .isa = setting.isa});
    const std::vector<std::byte> rotated = x.memory();
    EXPECT_NE(rotated, before) << setting.name;
    x.restore(before);
    (void)rotate({.k = x.view(), .positions = negated, .table = &setting.table, .isa = setting.isa});
    EXPECT_EQ(x.memory(), rotated) << setting.name;
  });
  suite.expect_ran();
}

TEST(RotateProperties, TheTransposeIsTheAdjoint) {
  Suite suite("adjoint");
  std::mt19937_64 random(kSeed + 4);
  for_settings(suite, [&](const Setting& setting, DType dtype) {
    Heads x = rows_of(setting, dtype, random);
    Heads y = rows_of(setting, dtype, random);
    const Measured x_old = exactly(x.view());
    const Measured y_old = exactly(y.view());
    const std::vector<std::int64_t> positions = positions_of(setting, random);
    const Measured x_rotated = setting.rotate_rows(x.view(), positions, Direction::forward);
    const Measured y_rotated = setting.rotate_rows(y.view(), positions, Direction::transpose);
    for (std::size_t row = 0; row < kRows; ++row) {
      const Dot left = dot(setting, x_rotated, y_old, row);
      const Dot right = dot(setting, x_old, y_rotated, row);
      suite.ratio(dtype).add(std::abs(left.value - right.value), left.bound + right.bound, setting.name);
    }
  });
  suite.expect();
}

}  // namespace
}  // namespace posenc::test::properties_test
