// Whether a rotated tensor is what the reference says, and all memory beside the channels that rotate as it was.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "math/rope/rotation.h"
#include "posenc/info.h"
#include "posenc/reference.h"
#include "posenc/rotate.h"
#include "rotate/heads.h"
#include "support/tolerances.h"

namespace posenc::test {

// One ErrorRatio for each dtype, and the instruction sets that were run.
class Suite {
 public:
  explicit Suite(const std::string& name) : name_(name) {
    for (const DType dtype : kDTypes) ratios_.emplace_back(name + " " + std::string(posenc::name(dtype)));
  }

  ErrorRatio& ratio(DType dtype) { return ratios_[static_cast<std::size_t>(dtype)]; }
  void ran(Isa isa) {
    if (std::ranges::find(isas_, isa) == isas_.end()) isas_.push_back(isa);
  }

  // On every instruction set that the machine has.
  void expect_ran() const {
    expect_ran_somewhere();
    EXPECT_EQ(isas_, supported_isas()) << name_;
  }
  void expect_ran_somewhere() const {
    std::string names;
    for (const Isa isa : isas_) names.append(" ").append(posenc::name(isa));
    std::printf("[  isas    ] %s:%s\n", name_.c_str(), names.c_str());
    EXPECT_FALSE(isas_.empty()) << name_ << " ran on no instruction set";
  }
  void expect() const {
    expect_ran();
    expect_ratios();
  }
  void expect_ratios() const {
    for (const ErrorRatio& ratio : ratios_) ratio.expect();
  }

 private:
  std::string name_;
  std::vector<ErrorRatio> ratios_;  // by DType
  std::vector<Isa> isas_;
};

// Its channel within the rotation's other channel of the pair, or -1 where it does not rotate.
inline std::vector<std::int64_t> partners(const RotaryLayout& layout) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(layout.head_dim), -1);
  for (std::int64_t p = 0; p < layout.pairs(); ++p) {
    const auto [a, b] = math::channels_of_pair(layout.pairing, layout.first_channel, layout.dim, p);
    out[static_cast<std::size_t>(a)] = b;
    out[static_cast<std::size_t>(b)] = a;
  }
  return out;
}

// What c and s are at most, and how far from the truth.
struct AngleBound {
  double size = 1.0;
  double error = table_error(1.0);
};
inline AngleBound angle_bound(double attention_factor, Direction direction) {
  if (direction == Direction::inverse) return {1 / attention_factor, inverse_table_error(attention_factor)};
  return {attention_factor, table_error(attention_factor)};
}

// The reference's result, its elements in the order of the axes.
inline std::vector<double> reference_of(const Rope& rope, const ConstTensorView& x, const Positions& positions,
                                        Direction direction, std::span<const std::int32_t> cu_seqlens = {}) {
  std::size_t count = 1;
  for (int axis = 0; axis < x.rank; ++axis) count *= static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  std::vector<double> out(count);
  const TensorView view = tensor(out.data(), DType::f64, std::span(x.shape).first(static_cast<std::size_t>(x.rank)));
  (void)reference::rotate(
      rope, {.out = view, .x = x, .positions = positions, .direction = direction, .cu_seqlens = cu_seqlens});
  return out;
}

// `x` against `expected`, in the order of the axes. `before` is its memory before the call.
inline void expect_rotated(Heads& x, const std::vector<std::byte>& before, const std::vector<double>& expected,
                           const RotaryLayout& layout, const AngleBound& angles, Suite& suite,
                           const std::string& where) {
  const std::vector<std::int64_t> partner = partners(layout);
  const ConstTensorView old = x.in(before);
  const TensorView& view = x.view();
  ErrorRatio& ratio = suite.ratio(view.dtype);
  for_elements(view, [&](std::int64_t offset, std::size_t number) {
    const auto channel = static_cast<std::int64_t>(number) % layout.head_dim;
    const std::int64_t other = partner[static_cast<std::size_t>(channel)];
    if (other < 0) return;
    const double bound =
        rotated_bound(view.dtype, reference::read(old, offset), reference::read(old, offset - channel + other),
                      expected[number], angles.size, angles.error);
    ratio.add(std::abs(reference::read(view, offset) - expected[number]), bound, where);
  });
  // With the channels that rotate set back, nothing has changed.
  std::vector<std::byte> now = x.memory();
  TensorView cleared = view;
  cleared.data = now.data() + (static_cast<const std::byte*>(old.data) - before.data());
  for_elements(view, [&](std::int64_t offset, std::size_t number) {
    if (partner[number % static_cast<std::size_t>(layout.head_dim)] >= 0) {
      set_bits(cleared, offset, bits_at(old, offset));
    }
  });
  EXPECT_TRUE(now == before) << "memory beside the rotated channels changed: " << where;
}

}  // namespace posenc::test
