// The least squares behind the affine property.
#include "properties/span.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/tolerances.h"

namespace posenc::test::span_test {
namespace {

using properties::least_squares_residual;
using properties::Numbers;
using properties::Rows;

Rows rows(std::int64_t width, std::vector<double> values) { return {width, std::move(values)}; }

// Rows (x, 1): a straight line. Through (0, 0), (1, 1), (2, 0) the best one is y = 1/3, and leaves (-1, 2, -1)/3.
TEST(LeastSquares, ALineByHand) {
  const Rows line = rows(2, {0, 1, 1, 1, 2, 1});
  EXPECT_NEAR(least_squares_residual(line, rows(1, {0, 1, 0})), std::sqrt(2.0 / 3.0), least_squares_error(3, 2, 1));
  EXPECT_NEAR(least_squares_residual(line, rows(1, {1, 3, 5})), 0.0, least_squares_error(3, 2, std::sqrt(35.0)));
}

// Two right hand sides: the squares add up.
TEST(LeastSquares, SeveralAtOnce) {
  const Rows line = rows(2, {0, 1, 1, 1, 2, 1});
  EXPECT_NEAR(least_squares_residual(line, rows(2, {0, 0, 1, 2, 0, 0})), std::sqrt(5.0 * 2.0 / 3.0),
              least_squares_error(3, 2, std::sqrt(5.0)));
}

// Columns that are equal, zero, or sums of others change nothing, and neither do their sizes.
TEST(LeastSquares, DependentColumns) {
  const Rows wanted = rows(1, {0, 1, 0});
  EXPECT_EQ(least_squares_residual(rows(1, {0, 0, 0}), wanted), 1.0);
  for (const double size : {1.0, 1e-3, 1e3}) {
    const Rows more = rows(5, {0, 1, 0, size, 0, 1, 1, 0, 2 * size, size, 2, 1, 0, 3 * size, 2 * size});
    EXPECT_NEAR(least_squares_residual(more, wanted), std::sqrt(2.0 / 3.0), least_squares_error(3, 5, 1));
  }
}

TEST(LeastSquares, AsManyColumnsAsRows) {
  Numbers numbers(7);
  const Rows square = normal_rows(numbers, 9, 9);
  EXPECT_NEAR(least_squares_residual(square, normal_rows(numbers, 9, 4)), 0.0, least_squares_error(9, 9, 6 * 6));
}

// B = A X + E with E orthogonal to A leaves E.
TEST(LeastSquares, WhatIsOrthogonalStays) {
  Numbers numbers(8);
  Rows a = normal_rows(numbers, 40, 6);
  Rows b{3, {}};
  for (std::int64_t n = 0; n < 40; ++n) {
    a.values[static_cast<std::size_t>(n * 6 + 5)] = n < 39 ? a.values[static_cast<std::size_t>(n * 6 + 5)] : 0.0;
    for (std::int64_t c = 0; c < 3; ++c) {
      double sum = 0.0;
      for (std::size_t k = 0; k < 6; ++k) sum += (1.0 + static_cast<double>(c)) * a[n][k];
      b.values.push_back(sum);
    }
  }
  // The last equation asks nothing of X, and cannot be met.
  for (std::size_t k = 0; k < 6; ++k) a.values[39 * 6 + k] = 0.0;
  b.values[39 * 3] = 3.0;
  b.values[39 * 3 + 1] = 4.0;
  b.values[39 * 3 + 2] = 12.0;
  EXPECT_NEAR(least_squares_residual(a, b), 13.0, least_squares_error(40, 6, std::sqrt(40 * 6 * 14)));
}

// Powers of x up to x^9 on [0, 1]: a condition of 1e8 and more, of which the normal equations would make 1e16. A
// polynomial of that degree is met all the same.
TEST(LeastSquares, NearlyDependentColumns) {
  Rows powers{10, {}};
  Rows wanted{1, {}};
  for (int n = 0; n <= 100; ++n) {
    for (int k = 0; k < 10; ++k) powers.values.push_back(std::pow(n / 100.0, k));
    wanted.values.push_back(std::pow(0.5 - n / 100.0, 9));
  }
  EXPECT_NEAR(least_squares_residual(powers, wanted), 0.0, least_squares_error(101, 10, 1));
}

}  // namespace
}  // namespace posenc::test::span_test
