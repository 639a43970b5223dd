// Biases that are a formula of the distance; and the rows of a window's table.
//
//   KERPLE    -r1 ln(1 + r2 |d|) or -r1 |d|^r2              arXiv 2205.09921, (4) and (5)
//   FIRE      MLP(psi(d) / psi(max(L, i)))                  arXiv 2310.04418, (7)
//   Sandwich  a sum of cosines                              arXiv 2212.10356; sandwich.cpp
//   window    (di + rows - 1) (2 columns - 1) + dj + columns - 1      Swin, arXiv 2103.14030
#include <cmath>

#include "base/formatted.h"
#include "math/score/fire.h"
#include "math/score/kerple.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::inline v0_2 {

// arXiv 2205.09921, (4) and (5). A number below 0 is one that was not clamped; the comparisons are false for a NaN.
double kerple_bias(const Kerple& scheme, double r1, double r2, double distance) {
  const auto require = [](const char* field, double is) {
    if (!(is >= 0)) throw Error("kerple_bias", {field, "be at least 0, as training clamps it", formatted("{}", is)});
  };
  require("r1", r1);
  require("r2", r2);
  const double d = std::abs(distance);
  switch (scheme.form) {
    case Kerple::Form::logarithmic: return -r1 * std::log1p(r2 * d);
    case Kerple::Form::power: return -r1 * std::pow(d, r2);
  }
  return 0.0;
}

// arXiv 2310.04418, (7): of i <= L the denominator is a constant, beyond it every distance grows nearer. The paper's
// program takes |c d|, L as |multiplier L|, and adds 1e-6 to the denominator, which is omitted here.
double fire_input(double c, double threshold, double distance, double i) {
  return math::fire_psi(c, std::abs(distance)) / math::fire_denominator(c, threshold, i);
}

double mlp_input(const MlpBias& scheme, double distance) {
  if (!scheme.logarithmic) return distance;
  return std::copysign(std::log1p(std::abs(distance)), distance);
}

std::int64_t grid_row(const GridBias& scheme, std::int64_t row_difference, std::int64_t column_difference) {
  const auto require = [](const char* field, std::int64_t is, std::int64_t below) {
    if (std::abs(is) < below) return;
    throw Error("grid_row", {field, formatted("be less than {} either way", below), formatted("{}", is)});
  };
  require("row_difference", row_difference, scheme.rows);
  require("column_difference", column_difference, scheme.columns);
  return (row_difference + scheme.rows - 1) * (2 * scheme.columns - 1) + column_difference + scheme.columns - 1;
}

}  // namespace posenc::inline v0_2

namespace posenc::math {

// (4) and (5), differentiated. 0^r2 ln 0 is the limit, 0, for r2 > 0; for r2 = 0, where there is none, it is 0 too.
KerpleDerivatives kerple_derivatives(const Kerple& scheme, double r1, double r2, double distance) {
  const double d = std::abs(distance);
  switch (scheme.form) {
    case Kerple::Form::logarithmic: return {-std::log1p(r2 * d), -r1 * d / (1.0 + r2 * d)};
    case Kerple::Form::power: {
      const double power = std::pow(d, r2);
      return {-power, d == 0.0 ? 0.0 : -r1 * power * std::log(d)};
    }
  }
  return {};
}

}  // namespace posenc::math
