// How much noise may leave: an upper bound of a sum of squares of independent normal numbers.
//
// Laurent and Massart 2000, lemma 1: of sum_i v_i z_i^2 with z_i standard normal,
//
//   P( sum >= sum v_i + 2 sqrt(t sum v_i^2) + 2 t max v_i ) <= e^-t
#pragma once

#include <algorithm>
#include <cmath>

namespace posenc::inline v0_2::port {

// What is rejected is so in one diagnosis of a million where it is true, shared among the tests of one. What is named
// has to fit better than that: a true cause is not named in one diagnosis of a thousand.
inline constexpr double kFalseAlarm = 1e-6;
inline constexpr double kUnnamed = 1e-3;

// A factor that is none, in units of rounding: what a format that truncates loses, and a scale of eight-bit blocks.
inline constexpr double kOneSided = 4.0;

inline double level_of(double tests, double error = kFalseAlarm) { return std::log(std::max(1.0, tests) / error); }

struct Variances {
  double sum = 0.0;
  double squares = 0.0;
  double largest = 0.0;

  void add(double variance, double times = 1.0) {
    sum += times * variance;
    squares += times * variance * variance;
    largest = std::max(largest, variance);
  }
  double bound(double t) const { return sum + 2 * std::sqrt(t * squares) + 2 * t * largest; }
};

}  // namespace posenc::inline v0_2::port
