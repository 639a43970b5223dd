// Small linear algebra on vectors of doubles, and samples: what the five texts' formulas are written out with.
//
// Matrices are row-major. Samples are the same on every machine: std::mt19937's numbers are fixed by the C++ standard,
// what distributions make of them is not.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace seeds {

using Numbers = std::vector<double>;

// From -1 up to 1.
inline Numbers sample(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Numbers out(count);
  for (double& x : out) x = static_cast<double>(random()) / 0x1p31 - 1.0;
  return out;
}

template <typename Function>
Numbers each(const Numbers& a, const Numbers& b, Function&& of) {
  Numbers out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = of(a[i], b[i]);
  return out;
}
inline Numbers plus(const Numbers& a, const Numbers& b) { return each(a, b, std::plus<>()); }
inline Numbers minus(const Numbers& a, const Numbers& b) { return each(a, b, std::minus<>()); }
inline Numbers by_element(const Numbers& a, const Numbers& b) { return each(a, b, std::multiplies<>()); }

inline Numbers scaled(Numbers a, double factor) {
  for (double& x : a) x *= factor;
  return a;
}

inline double dot(const Numbers& a, const Numbers& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Row r of a matrix of that many columns.
inline Numbers row(const Numbers& matrix, std::size_t columns, std::size_t r) {
  const auto at = matrix.begin() + static_cast<std::ptrdiff_t>(r * columns);
  return {at, at + static_cast<std::ptrdiff_t>(columns)};
}

// [a, n] times [n, b].
inline Numbers product(const Numbers& left, const Numbers& right, std::size_t n) {
  const std::size_t rows = left.size() / n;
  const std::size_t columns = right.size() / n;
  Numbers out(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t j = 0; j < columns; ++j) out[i * columns + j] += left[i * n + c] * right[c * columns + j];
    }
  }
  return out;
}

inline Numbers transposed(const Numbers& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  Numbers out(matrix.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = matrix[i * columns + j];
  }
  return out;
}

// exp(x) over its sum, for each row.
inline Numbers softmax(Numbers x, std::size_t columns) {
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double sum = 0.0;
    for (std::size_t j = 0; j < columns; ++j) sum += x[first + j] = std::exp(x[first + j]);
    for (std::size_t j = 0; j < columns; ++j) x[first + j] /= sum;
  }
  return x;
}

}  // namespace seeds
