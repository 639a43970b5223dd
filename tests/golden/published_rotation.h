// A rotation with given cos and sin, as other projects publish it, put through posenc: every instruction set, and the
// reference.
//
// Published caches need not hold cos and sin of anything: ONNX's are random numbers. A pair (c, s) is a rotation by
// atan2(s, c) times hypot(c, s), which is how the reference, that knows angles alone, is given it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "math/rope/rotation.h"
#include "posenc/reference.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test {

struct PublishedRotation {
  std::string name;
  RotaryLayout layout;
  std::vector<float> cos;  // [positions, pairs]
  std::vector<float> sin;
  std::vector<float> x;         // [batch, tokens, heads, head_dim], or heads before tokens
  std::vector<float> expected;  // as x
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  bool heads_first = false;
  std::vector<std::int64_t> positions;  // [batch, tokens]: rows of cos and sin
  double printed = 0.0;                 // how far from the publisher's own numbers x, cos, sin and expected are, each

  std::size_t index(std::int64_t b, std::int64_t t, std::int64_t h) const {
    const std::int64_t row = heads_first ? (b * heads + h) * tokens + t : (b * tokens + t) * heads + h;
    return static_cast<std::size_t>(row * layout.head_dim);
  }
  std::size_t angle_row(std::int64_t b, std::int64_t t) const {
    return static_cast<std::size_t>(positions[static_cast<std::size_t>(b * tokens + t)] * layout.pairs());
  }
};

inline std::vector<double> rotated_by_reference(const PublishedRotation& one) {
  std::vector<double> out(one.x.begin(), one.x.end());
  for (std::int64_t row = 0; row < one.batch * one.tokens * one.heads; ++row) {
    const std::int64_t b = row / (one.tokens * one.heads);
    const std::int64_t t = row / one.heads % one.tokens;
    const std::size_t at = one.index(b, t, row % one.heads);
    std::vector<double> head(out.begin() + static_cast<std::ptrdiff_t>(at),
                             out.begin() + static_cast<std::ptrdiff_t>(at) + one.layout.head_dim);
    std::vector<double> angles;
    for (std::int64_t p = 0; p < one.layout.pairs(); ++p) {
      const double c = one.cos[one.angle_row(b, t) + static_cast<std::size_t>(p)];
      const double s = one.sin[one.angle_row(b, t) + static_cast<std::size_t>(p)];
      const auto [first, second] =
          math::channels_of_pair(one.layout.pairing, one.layout.first_channel, one.layout.dim, p);
      head[static_cast<std::size_t>(first)] *= std::hypot(c, s);
      head[static_cast<std::size_t>(second)] *= std::hypot(c, s);
      angles.push_back(std::atan2(s, c));
    }
    head = reference::rotate_pairwise(one.layout, head, angles);
    std::copy(head.begin(), head.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

inline std::vector<double> rotated_by_kernel(const PublishedRotation& one, Isa isa) {
  const RotaryTable table = table_from_cos_sin(one.layout, one.cos, one.sin);
  std::vector<float> x = one.x;
  const std::int64_t width = one.layout.head_dim;
  const TensorView q = one.heads_first ? tensor(x.data(), {one.batch, one.heads, one.tokens, width})
                                       : transposed(tensor(x.data(), {one.batch, one.tokens, one.heads, width}), 1, 2);
  (void)rotate({.q = q, .positions = std::span<const std::int64_t>(one.positions), .table = &table, .isa = isa});
  return {x.begin(), x.end()};
}

// Bounds are made with the largest numbers of the case. Channels that do not rotate are copied, so they are equal.
inline void compare(const PublishedRotation& one, const std::vector<double>& got, const std::string& how,
                    ErrorRatio& ratio) {
  ASSERT_EQ(got.size(), one.expected.size()) << one.name;
  const auto largest = [](const std::vector<float>& values) {
    double most = 0;
    for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
    return most;
  };
  const double bound =
      published_rotation_bound(largest(one.x), std::max(largest(one.cos), largest(one.sin)), one.printed);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i) % one.layout.head_dim - one.layout.first_channel;
    if (channel < 0 || channel >= one.layout.dim) {
      EXPECT_EQ(got[i], static_cast<double>(one.expected[i])) << one.name << " " << how << " element " << i;
    } else {
      ratio.add(std::abs(got[i] - static_cast<double>(one.expected[i])), bound, one.name + ", " + how);
    }
  }
}

inline void compare_everywhere(const PublishedRotation& one, const std::vector<Isa>& isas, ErrorRatio& ratio) {
  compare(one, rotated_by_reference(one), "reference", ratio);
  for (const Isa isa : isas) compare(one, rotated_by_kernel(one, isa), std::string(name(isa)), ratio);
}

}  // namespace posenc::test
