// RoPE of one head in double, with angles of its own: x f is reduced modulo 2 pi from an exact product, so that cos and
// sin are within 1e-15 at any position up to 2^53; or in the float steps of Hugging Face (Angles::float32, bfloat16).
//
//   (a, b) -> factor (a cos t - b sin t, a sin t + b cos t)      RoFormer, arXiv 2104.09864, (34)
//
// Nothing is shared with the kernels (src/kernels/angles_loop.h, rotate_loop.h), which are tested against it.
#include "reference/rotate_head.h"

#include <cmath>
#include <numbers>

#include "math/rope/rotation.h"

namespace posenc::inline v0_2::reference {
namespace {

// x f modulo 2 pi, within 1e-15, for |x f| <= 2^53. The product is h + l exactly; 2 pi is the sum of two doubles (A
// third, 2^-106 of it, times 2^50 turns, is nothing). h - k * kTwoPi is exact: its last bit is at 2^-50, it is below 8.
double reduced_angle(double x, double f) {
  constexpr double kTwoPi = 2 * std::numbers::pi;
  constexpr double kTwoPiRest = 2.4492935982947064e-16;  // 2 pi - kTwoPi
  const double h = x * f;
  const double l = std::fma(x, f, -h);
  const double k = std::nearbyint(h / kTwoPi);
  const double rest = k * kTwoPiRest;
  return std::fma(-k, kTwoPi, h) + (l - rest);
}

// To nearest, ties to even, by arithmetic: bfloat16 has 8 significant bits. cos and sin are far from its range's ends.
float rounded_to_bfloat16(float x) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);  // 8 bits of it: mantissa * 2^8 is whole
  return std::ldexp(std::nearbyint(mantissa * 256.0F), exponent - 8);
}

struct CosineSine {
  double cos;
  double sin;
};

// float32: position, frequency and their product are rounded to float before the cosine, and cosine, factor and their
// product after it, as Hugging Face's code does in torch.float32. The cosine itself is that of the float angle, taken
// as a real number.
CosineSine cosine_sine(double position, double inv_freq, double factor, Angles angles) {
  if (angles == Angles::exact) {
    const double angle = reduced_angle(position, inv_freq);
    return {factor * std::cos(angle), factor * std::sin(angle)};
  }
  const float angle = static_cast<float>(position) * static_cast<float>(inv_freq);
  const double reduced = reduced_angle(angle, 1.0);
  float c = static_cast<float>(std::cos(reduced)) * static_cast<float>(factor);
  float s = static_cast<float>(std::sin(reduced)) * static_cast<float>(factor);
  if (angles == Angles::bfloat16) {
    c = rounded_to_bfloat16(c);
    s = rounded_to_bfloat16(s);
  }
  return {c, s};
}

std::int64_t axis_of(const Rope& rope, std::int64_t p) {
  return rope.axes.of_pair.empty() ? 0 : rope.axes.of_pair[static_cast<std::size_t>(p)];
}

struct HeadPair {
  std::size_t a;
  std::size_t b;
};

HeadPair head_pair(const Rope& rope, std::int64_t p) {
  const auto [a, b] = math::channels_of_pair(rope.pairing, rope.first_channel, rope.dim, p);
  return {static_cast<std::size_t>(a), static_cast<std::size_t>(b)};
}

// With attention factor a, forward applies a R. Its transpose is a R^T: the sine changes its sign. Its inverse is the
// transpose divided by a^2, R^T / a. Channels outside the pairs keep their values.
CosineSine of_pair(const Rope& rope, const Frequencies& frequencies,
                   const std::function<double(std::int64_t)>& coordinate, Direction direction, Angles angles,
                   std::int64_t p) {
  const double factor = frequencies.attention_factor;
  CosineSine angle =
      cosine_sine(coordinate(axis_of(rope, p)), frequencies.inv_freq[static_cast<std::size_t>(p)], factor, angles);
  if (direction != Direction::forward) angle.sin = -angle.sin;
  if (direction == Direction::inverse) angle = {angle.cos / (factor * factor), angle.sin / (factor * factor)};
  return angle;
}

}  // namespace

void rotate_head(const Rope& rope, const Frequencies& frequencies,
                 const std::function<double(std::int64_t)>& coordinate, Direction direction, Angles angles,
                 std::span<double> x) {
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const CosineSine angle = of_pair(rope, frequencies, coordinate, direction, angles, p);
    const auto [a, b] = head_pair(rope, p);
    const auto rotated = math::rotated<double>({x[a], x[b]}, angle.cos, angle.sin);
    x[a] = rotated.a;
    x[b] = rotated.b;
  }
}

// An inverse rotates by -t, so its angle grows as the position falls.
std::vector<double> rotate_head_backward(const Rope& rope, const Frequencies& frequencies,
                                         const std::function<double(std::int64_t)>& coordinate, Direction direction,
                                         std::span<const double> rotated, std::span<double> d) {
  std::vector<double> by_frequency;
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const CosineSine angle = of_pair(rope, frequencies, coordinate, direction, Angles::exact, p);
    const auto [a, b] = head_pair(rope, p);
    const double by_angle = math::angle_gradient<double>({rotated[a], rotated[b]}, {d[a], d[b]});
    by_frequency.push_back((direction == Direction::forward ? 1.0 : -1.0) * coordinate(axis_of(rope, p)) * by_angle);
    const auto back = math::rotated_back<double>({d[a], d[b]}, angle.cos, angle.sin);
    d[a] = back.a;
    d[b] = back.b;
  }
  return by_frequency;
}

}  // namespace posenc::inline v0_2::reference
