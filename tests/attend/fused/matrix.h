// Matrices, with which original implementations write attention: all queries, keys and distances of a head at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/random_tensor.h"

namespace posenc::test {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values = std::vector<double>(static_cast<std::size_t>(rows * columns));

  double& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

inline Matrix transposed(const Matrix& a) {
  Matrix out{.rows = a.columns, .columns = a.rows};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) out(j, i) = a(i, j);
  }
  return out;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{.rows = a.rows, .columns = b.columns};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t c = 0; c < a.columns; ++c) out(i, j) += a(i, c) * b(c, j);
    }
  }
  return out;
}

// With the same numbers added to every row.
inline Matrix plus_row(Matrix a, const std::vector<double>& row) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) a(i, j) += row[static_cast<std::size_t>(j)];
  }
  return a;
}

// `count` rows from `first` on.
inline Matrix rows_of(const Matrix& a, std::int64_t first, std::int64_t count) {
  const auto begin = a.values.begin() + first * a.columns;
  return {.rows = count, .columns = a.columns, .values = {begin, begin + count * a.columns}};
}

// The Euclidean length of row i.
inline double length_of(const Matrix& a, std::int64_t i) {
  double squares = 0.0;
  for (std::int64_t j = 0; j < a.columns; ++j) squares += a(i, j) * a(i, j);
  return std::sqrt(squares);
}

// The same numbers in as many rows and columns as are asked for: view(rows, columns) of other libraries.
inline Matrix reshaped(Matrix a, std::int64_t rows, std::int64_t columns) {
  a.rows = rows;
  a.columns = columns;
  return a;
}

// A tensor of two axes.
inline Matrix matrix_of(const Tensor& x) { return {.rows = x.shape[0], .columns = x.shape[1], .values = x.values}; }

// Head h of [tokens, heads, channels]: [tokens, channels].
inline Matrix head_of(const Tensor& x, std::int64_t h) {
  Matrix out{.rows = x.shape[0], .columns = x.shape[2]};
  for (std::int64_t t = 0; t < out.rows; ++t) {
    for (std::int64_t c = 0; c < out.columns; ++c) {
      out(t, c) = x.values[static_cast<std::size_t>((t * x.shape[1] + h) * x.shape[2] + c)];
    }
  }
  return out;
}

}  // namespace posenc::test
