// The rotation of whole tensors against the block-diagonal matrix, head by head; calls of it that do not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "posenc/reference.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::rotate_tensors_test {
namespace {

constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kDim = 14;
const std::vector<std::int32_t> kPositions{3, -7, 900, 0, 11, 8, 1, 2, -40, 5};  // [2 axes, tokens]

Rope two_axes(Pairing pairing) {
  Rope rope{.pairing = pairing, .head_dim = kDim, .first_channel = 2, .dim = 12};
  rope.scaling = YarnScaling{.factor = 4.0, .original_max_position_embeddings = 64};
  rope.axes = chunked_axes({"h", "w"}, {4, 2});
  return rope;
}

std::vector<double> random_elements() {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<double> out(kTokens * kHeads * kDim);
  for (double& x : out) x = uniform(random);
  return out;
}

TEST(ReferenceTensors, AreRotatedByTheMatrixTimesTheAttentionFactor) {
  ErrorRatio ratio("reference tensors");
  const std::vector<double> x = random_elements();
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const Rope rope = two_axes(pairing);
    const auto [inv_freq, factor] = frequencies(rope);
    EXPECT_GT(factor, 1.1);
    for (const Direction direction : {Direction::forward, Direction::inverse, Direction::transpose}) {
      std::vector<double> out(x.size());
      (void)reference::rotate(rope, {.out = tensor(out.data(), {kTokens, kHeads, kDim}),
                                     .x = tensor(x.data(), {kTokens, kHeads, kDim}),
                                     .positions = std::span<const std::int32_t>(kPositions),
                                     .direction = direction});
      for (std::size_t head = 0; head < kTokens * kHeads; ++head) {
        std::vector<double> angles;
        for (std::size_t p = 0; p < 6; ++p) {
          const std::int32_t position = kPositions[(p < 4 ? 0 : kTokens) + head / kHeads];
          angles.push_back(position * inv_freq[p] * (direction == Direction::forward ? 1 : -1));
        }
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(head * kDim);
        const std::vector<double> rotated =
            reference::rotate_matrix(layout(rope), std::vector<double>(first, first + kDim), angles);
        for (std::size_t c = 0; c < kDim; ++c) {
          const bool rotates = c >= 2;
          const double scale = !rotates ? 1 : direction == Direction::inverse ? 1 / factor : factor;
          const double expected = scale * rotated[c];
          const double got = out[head * kDim + c];
          if (!rotates) {
            EXPECT_EQ(got, expected);
            continue;
          }
          // Both sides round, here the product of position and frequency too.
          const std::size_t p = pairing == Pairing::half ? (c - 2) % 6 : (c - 2) / 2;
          const double angle = std::abs(angles[p]) * kDoubleRounding + kReferenceAngle;
          ratio.add(std::abs(got - expected), scale * (2 * rotation_bound(1.0) + std::sqrt(2.0) * angle),
                    std::to_string(c));
        }
      }
    }
  }
  ratio.expect();
}

// (a, b) -> (a cos t + b sin t, b cos t - a sin t): what a rotate_half of (b, -a) gives. Frequencies are 1 and 1/2.
TEST(ReferenceTensors, AreRotatedClockwise) {
  ErrorRatio ratio("clockwise");
  const std::vector<double> x{0.6, -0.5, 0.8, 0.25};
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const Rope rope{
        .pairing = pairing, .head_dim = 4, .dim = 4, .base = 4, .rotation_direction = RotationDirection::clockwise};
    for (const std::int64_t position : {3, -7, 900, 16777217}) {
      std::vector<double> out(4);
      (void)reference::rotate(rope, {.out = tensor(out.data(), {1, 1, 4}),
                                     .x = tensor(x.data(), {1, 1, 4}),
                                     .positions = PositionRange{position}});
      for (std::size_t p = 0; p < 2; ++p) {
        const double t = static_cast<double>(position) * (p == 0 ? 1.0 : 0.5);
        const std::size_t a = pairing == Pairing::half ? p : 2 * p;
        const std::size_t b = pairing == Pairing::half ? p + 2 : 2 * p + 1;
        const double bound = 2 * rotation_bound(1.0) + std::sqrt(2.0) * kReferenceAngle;  // both sides round
        ratio.add(std::abs(out[a] - (x[a] * std::cos(t) + x[b] * std::sin(t))), bound, std::to_string(a));
        ratio.add(std::abs(out[b] - (x[b] * std::cos(t) - x[a] * std::sin(t))), bound, std::to_string(b));
      }
    }
  }
  ratio.expect();
}

TEST(ReferenceTensors, ThatDoNotFitAreRefused) {
  std::vector<double> x = random_elements();
  const std::vector<double> before = x;
  const Rope rope = two_axes(Pairing::half);
  const TensorView view = tensor(x.data(), {kTokens, kHeads, kDim});
  reference::RotateArgs args{.out = view, .x = view, .positions = std::span<const std::int32_t>(kPositions)};
  args.positions = std::span<const std::int32_t>(kPositions).first(9);
  EXPECT_ERROR((void)reference::rotate(rope, args), "[reference::rotate] positions must have 10 entries but is 9");
  args.positions = PositionRange{};
  args.direction = static_cast<Direction>(9);
  EXPECT_ERROR((void)reference::rotate(rope, args),
               "[reference::rotate] direction must be forward, inverse or transpose but is 9");
  args.direction = Direction::forward;
  args.x.data = nullptr;
  EXPECT_ERROR((void)reference::rotate(rope, args),
               "[reference::rotate] x.data must point to the elements but is null");
  args.x = view;
  args.out.dtype = DType::f32;
  EXPECT_ERROR((void)reference::rotate(rope, args), "[reference::rotate] out.dtype must be f64 but is f32");
  EXPECT_EQ(x, before);
}

TEST(ReferenceTensors, AreLeftWhereTheCallIsTold) {
  const std::vector<double> x = random_elements();
  const auto rotated_for = [&](int tokens) {
    std::vector<double> out(x.size(), 7.0);
    const bool is_done = reference::rotate(two_axes(Pairing::half), {.out = tensor(out.data(), {kTokens, kHeads, kDim}),
                                                                     .x = tensor(x.data(), {kTokens, kHeads, kDim}),
                                                                     .keep_going = [&] { return tokens-- > 0; }});
    EXPECT_EQ(is_done, tokens >= 0);
    return out;
  };
  const std::vector<double> whole = rotated_for(kTokens);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), 7.0), 0);
  const std::vector<double> part = rotated_for(2);
  const auto end = part.begin() + 2 * kHeads * kDim;
  EXPECT_TRUE(std::equal(part.begin(), end, whole.begin()));
  EXPECT_EQ(std::count(end, part.end(), 7.0), (kTokens - 2) * kHeads * kDim);
}

}  // namespace
}  // namespace posenc::test::rotate_tensors_test
