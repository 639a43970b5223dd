// The primitives' formulas that kernels and the float64 check of lowering share: c and s of a rotation at any position,
// with its decay (xPos, arXiv 2212.10554); which distance's sines stand for another's; the row's share of a column; all
// entries of a bias table.
#include "math/primitives.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <variant>

namespace posenc::math {
namespace {

// x f in radians, less whole turns. f / 2 pi is the sum of two doubles, hi + lo, within 2^-104 of it, so x times it is
// known to 2^-53 of a turn, for |x f| <= 2^53; the nearest whole number is taken from the larger half, which is exact.
// Half a turn at most is left: the sum, the product and its constant round to 3 times 2^-53 of pi.
double reduced(double x, double f) {
  constexpr double kInverse = 0.5 * std::numbers::inv_pi;
  constexpr double kInverseRest = -0x1.6b01ec5417056p-57;  // 1/(2 pi) - kInverse (Python's mpmath)
  const double hi = f * kInverse;
  const double lo = std::fma(f, kInverse, -hi) + f * kInverseRest;
  const double h = x * hi;
  const double l = std::fma(x, hi, -h) + x * lo;
  return 2.0 * std::numbers::pi * (h - std::nearbyint(h) + l);
}

Coefficients at_angle(double angle, double size) { return {size * std::cos(angle), size * std::sin(angle)}; }

Part part_of(const DistanceBias& term) { return term.part; }
Part part_of(const LinearDistance&) { return Part::bias; }
Part part_of(const Knots&) { return Part::bias; }
Part part_of(const Column&) { return Part::bias; }
Part part_of(const QueryDistance& term) { return term.part; }
Part part_of(const KeyDistance& term) { return term.part; }
Part part_of(const SineDistance&) { return Part::content; }
Part part_of(const KeyVector&) { return Part::content; }
Part part_of(const Label&) { return Part::content; }
Part part_of(const Running&) { return Part::bias; }

}  // namespace

Part part_of(const Term& term) {
  return std::visit([](const auto& primitive) { return part_of(primitive); }, term);
}

Coefficients coefficients(const Rotation& rotation, Side side, std::int64_t pair, double position,
                          double beyond_origin) {
  const auto p = static_cast<std::size_t>(pair);
  const double exponent = rotation.decay.empty() ? 0.0 : rotation.decay[p] * beyond_origin;
  const double decay = std::exp(side == Side::query ? exponent : -exponent);
  const bool rotates = side == Side::query ? rotation.rotates_queries : rotation.rotates_keys;
  if (!rotates) return {decay, 0.0};
  return at_angle(reduced(position + rotation.offset, rotation.inv_freq[p]), decay * rotation.factor);
}

Coefficients value_coefficients(const Rotation& rotation, std::int64_t pair, double position, bool inverse) {
  const double angle = reduced(position + rotation.offset, rotation.inv_freq[static_cast<std::size_t>(pair)]);
  return inverse ? at_angle(-angle, 1.0 / rotation.factor) : at_angle(angle, rotation.factor);
}

std::optional<std::int64_t> sine_place(const SineDistance& term, std::int64_t d) {
  if (term.rows && (d < term.rows->low || d > term.rows->high)) return {};
  return term.clamp_length < 0 ? d : std::clamp(d, -term.clamp_length, term.clamp_length);
}

double Column::of_row(std::int64_t head, std::int64_t q_row, std::int64_t k_rows) const {
  const std::int64_t last = is_of_past() ? last_keys[static_cast<std::size_t>(q_row)] : -1;
  return last < 0 ? 0.0 : -columns[static_cast<std::size_t>(head * k_rows + last)];
}

std::vector<double> table_of(const DistanceBias& term, std::int64_t heads) {
  std::vector<double> out(static_cast<std::size_t>(heads * term.count));
  std::vector<double> here(static_cast<std::size_t>(heads));
  for (std::int64_t entry = 0; entry < term.count; ++entry) {
    term.of(term.low + entry, here);
    for (std::int64_t h = 0; h < heads; ++h) {
      out[static_cast<std::size_t>(h * term.count + entry)] = here[static_cast<std::size_t>(h)];
    }
  }
  return out;
}

}  // namespace posenc::math
