// The bound of cos, sin and rotated vectors. u = 2^-24 is a rounding of a float32, u_d one of the port's dtype.
//
//   inv_freq  base^(-2p/d): the exponent is rounded, which the power multiplies by |ln inv_freq|; the power is within
//             an ulp (2 u), the reciprocal, the base and what a rule multiplies or divides by take one u each: 8 in
//             all. Where a rule goes over from one frequency to another (YaRN, Llama 3.1), the share of each is a
//             quotient of differences of rounded numbers, off by no more than 16 u, and moves inv_freq by that times
//             the larger frequency over the mixed one.
//   angle     position times inv_freq, each rounded, and the product: 2 more of the angle
//   cos, sin  within an ulp (2 u) of the rounded angle's, times the attention factor; then rounded to u_d
//   rotated   x_a cos - x_b sin: each product and the sum rounded to u_d. A wrong angle moves the pair by its length
#include <algorithm>
#include <cmath>
#include <variant>

#include "math/rope/rotation.h"
#include "vectors/bounds.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {
namespace {

constexpr double kFrequency = 8;
constexpr double kMixed = 16;
constexpr double kAngle = 2;
constexpr double kTableEntry = 2;

bool mixes(const Scaling& scaling) {
  return std::holds_alternative<YarnScaling>(scaling) || std::holds_alternative<Llama3Scaling>(scaling);
}

// Of inv_freq, in roundings of a float32. A pair that does not rotate has none.
double frequency_roundings(const Turning& turning, std::int64_t pair) {
  const double inv_freq = std::abs(turning.frequencies.inv_freq[at(pair)]);
  if (inv_freq == 0.0) return 0.0;
  const Rope& one = rope(*turning.rotate);
  double out = kFrequency + std::abs(std::log(inv_freq));
  if (mixes(one.scaling)) {
    const double larger = std::pow(one.base, -2.0 * static_cast<double>(pair) / static_cast<double>(one.dim));
    out += kMixed * std::max(1.0, larger / inv_freq);
  }
  return out;
}

}  // namespace

double angle_error(const Turning& turning, std::int64_t pair, double coordinate) {
  const double angle = std::abs(coordinate * turning.frequencies.inv_freq[at(pair)]);
  return angle * (frequency_roundings(turning, pair) + kAngle) * kFloat;
}

std::vector<double> angle_errors(const Turning& turning) {
  const auto pairs = static_cast<std::int64_t>(turning.frequencies.inv_freq.size());
  std::vector<double> out;
  for (std::size_t i = 0; i < turning.coordinates.size(); ++i) {
    out.push_back(angle_error(turning, static_cast<std::int64_t>(i) % pairs, turning.coordinates[i]));
  }
  return out;
}

// A channel has two products of at most its pair's length together times sqrt(2), the sum has at most the length; both
// channels of the pair are off by sqrt(2) times the first and, their squares adding up, once the second.
double rotation_roundings(const Rounding& rounding) {
  const double products = kTableEntry * kFloat + (rounding.dtype == DType::f32 ? 1 : 2) * rounding.unit;
  return std::sqrt(2.0) * std::sqrt(2.0) * products + rounding.unit;
}

// Of a pair of length 1: cos^2 + sin^2 = 1 of the table's two entries, the squares of the four products add up to 1,
// and so do those of the two sums.
double independent_rotation_roundings(const Rounding& rounding) {
  const double table = rounding.dtype == DType::f32 ? kTableEntry * kFloat : kTableEntry * kFloat + rounding.unit;
  return std::sqrt(table * table + 2 * rounding.unit * rounding.unit);
}

std::vector<double> rotation_errors(const std::vector<Turning>& turnings, const VectorTensor& x,
                                    const Rounding& rounding) {
  const std::int64_t tokens = x.shape[0];
  const std::int64_t heads = x.shape[1];
  const std::int64_t width = x.shape[2];
  std::vector<double> errors(x.values.size());
  std::vector<double> values = x.values;
  const double of_product = kTableEntry * kFloat + (rounding.dtype == DType::f32 ? 1 : 2) * rounding.unit;
  for (const Turning& turning : turnings) {
    const Rope& one = rope(*turning.rotate);
    const double factor = turning.frequencies.attention_factor;
    const std::vector<double> of_angles = angle_errors(turning);
    for (std::int64_t row = 0; row < tokens * heads; ++row) {
      for (std::int64_t p = 0; p < one.pairs(); ++p) {
        const std::int64_t place = (row / heads) * one.pairs() + p;
        const double angle = turning.coordinates[at(place)] * turning.frequencies.inv_freq[at(p)];
        const auto [a, b] = math::channels_of_pair(one.pairing, one.first_channel, one.dim, p);
        double& x_a = values[at(row * width + a)];
        double& x_b = values[at(row * width + b)];
        double& e_a = errors[at(row * width + a)];
        double& e_b = errors[at(row * width + b)];
        const double cos = std::cos(angle) * factor;
        const double sin = std::sin(angle) * factor;
        const double by_angle = std::hypot(x_a, x_b) * std::abs(factor) * of_angles[at(place)];
        const auto [y_a, y_b] = math::rotated(math::Plane<double>{x_a, x_b}, cos, sin);
        // Products are of numbers whose sizes are known; a table's entry is off by an ulp of the factor.
        const double table = kTableEntry * kFloat * std::abs(factor) * (std::abs(x_a) + std::abs(x_b));
        const double made_a = of_product * (std::abs(x_a * cos) + std::abs(x_b * sin)) + table;
        const double made_b = of_product * (std::abs(x_a * sin) + std::abs(x_b * cos)) + table;
        const double before_a = std::abs(cos) * e_a + std::abs(sin) * e_b;
        const double before_b = std::abs(sin) * e_a + std::abs(cos) * e_b;
        const double small = 5 * rounding.least * (1 + std::abs(x_a) + std::abs(x_b));  // table, products, sum
        e_a = before_a + by_angle + made_a + rounding.unit * std::abs(y_a) + small;
        e_b = before_b + by_angle + made_b + rounding.unit * std::abs(y_b) + small;
        x_a = y_a;
        x_b = y_b;
      }
    }
  }
  return errors;
}

VectorBound table_bound(const Turning& turning, const VectorTensor& table, const Rounding& rounding) {
  const std::vector<double> of_angles = angle_errors(turning);
  const double factor = std::abs(turning.frequencies.attention_factor);
  const double stored = rounding.dtype == DType::f32 ? 0.0 : rounding.unit;
  std::vector<double> errors;
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    errors.push_back(factor * (of_angles[i] + kTableEntry * kFloat) + stored * std::abs(table.values[i]) +
                     rounding.least);
  }
  return bound_of(table, errors, 0, stored);
}

// A port keeps its frequencies in float32, whatever it rotates in.
VectorBound frequency_bound(const Turning& turning, const VectorTensor& inv_freq) {
  double most = 0.0;
  for (std::int64_t p = 0; p < inv_freq.shape.front(); ++p) most = std::max(most, frequency_roundings(turning, p));
  return {.tensor = inv_freq.name, .relative = (most + 1) * kFloat, .absolute = {0.0}};
}

VectorBound bound_of(const VectorTensor& tensor, const std::vector<double>& errors, int token_axis, double unit) {
  const std::int64_t tokens = tensor.shape[static_cast<std::size_t>(token_axis)];
  std::int64_t within = 1;  // elements of one token, behind its axis
  for (std::size_t axis = static_cast<std::size_t>(token_axis) + 1; axis < tensor.shape.size(); ++axis) {
    within *= tensor.shape[axis];
  }
  VectorBound out{.tensor = tensor.name, .relative = unit, .absolute = std::vector<double>(at(tokens))};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double left = errors[i] - unit * std::abs(tensor.values[i]);
    double& of_token = out.absolute[static_cast<std::size_t>(static_cast<std::int64_t>(i) / within % tokens)];
    if (std::isfinite(tensor.values[i])) of_token = std::max(of_token, left);
  }
  return out;
}

}  // namespace posenc::inline v0_2::golden
