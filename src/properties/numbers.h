// Random numbers that are the same on every machine, and tables of them that weights view: std::mt19937_64 is specified
// to the bit by the standard, std::normal_distribution is not.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <random>
#include <span>
#include <vector>

#include "posenc/tensor.h"

namespace posenc::properties {

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // in [0, 1)
  // Mean 0, variance 1: a sum of twelve. The library's normal distribution differs between libraries, and one made of
  // logarithms and cosines between machines.
  double normal();

 private:
  std::mt19937_64 engine_;
};

// [rows, width], or [tokens, heads * channels].
struct Rows {
  std::int64_t width = 0;
  std::vector<double> values{};

  std::int64_t count() const { return width == 0 ? 0 : std::ssize(values) / width; }
  std::span<const double> operator[](std::int64_t row) const {
    return std::span(values).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
  }
};

// Row after row, each number by normal().
Rows normal_rows(Numbers& numbers, std::int64_t count, std::int64_t width);

// The learned tables of one scheme. They stay where they are.
class Tables {
 public:
  explicit Tables(std::uint64_t seed) : numbers_(seed) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  // f64, row-major, of mean 0 and that standard deviation; between: uniform in [low, high).
  ConstTensorView normal(std::initializer_list<std::int64_t> shape, double spread = 1.0);
  ConstTensorView between(double low, double high, std::initializer_list<std::int64_t> shape);
  // A learned number that stands by itself.
  double number(double value);

  // All numbers that were asked for.
  std::int64_t count() const { return count_; }

 private:
  template <typename Next>
  ConstTensorView filled(std::initializer_list<std::int64_t> shape, const Next& next);

  Numbers numbers_;
  // A deque, whose elements stay in place while it grows: views point into them.
  std::deque<std::vector<double>> kept_;
  std::int64_t count_ = 0;
};

}  // namespace posenc::properties
