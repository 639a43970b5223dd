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

}  // namespace

// With attention factor a, forward applies a R. Its transpose is a R^T: the sine changes its sign. Its inverse is the
// transpose divided by a^2, R^T / a. Channels outside the pairs keep their values.
void rotate_head(const Rope& rope, const Frequencies& frequencies,
                 const std::function<double(std::int64_t)>& coordinate, Direction direction, Angles angles,
                 std::span<double> x) {
  const double factor = frequencies.attention_factor;
  for (std::int64_t p = 0; p < rope.pairs(); ++p) {
    const auto pair = static_cast<std::size_t>(p);
    const std::int64_t axis = rope.axes.of_pair.empty() ? 0 : rope.axes.of_pair[pair];
    CosineSine angle = cosine_sine(coordinate(axis), frequencies.inv_freq[pair], factor, angles);
    if (direction != Direction::forward) angle.sin = -angle.sin;
    if (direction == Direction::inverse) angle = {angle.cos / (factor * factor), angle.sin / (factor * factor)};
    const auto [a, b] = math::channels_of_pair(rope.pairing, rope.first_channel, rope.dim, p);
    double& first = x[static_cast<std::size_t>(a)];
    double& second = x[static_cast<std::size_t>(b)];
    const auto rotated = math::rotated<double>({first, second}, angle.cos, angle.sin);
    first = rotated.a;
    second = rotated.b;
  }
}

}  // namespace posenc::inline v0_2::reference
