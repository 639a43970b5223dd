// Both tensors as doubles, what rounding each has seen, and what of them is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/diagnose.h"

namespace posenc::inline v0_2::port {

// Elements of each tensor that are looked at, at most: 32 MiB as doubles, and a second of work.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 22;

struct Samples {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;  // of each sequence
  std::int64_t heads = 0;
  std::int64_t channels = 0;
  std::vector<double> before;  // [sequences * tokens, heads, channels]
  std::vector<double> after;
  // Of the narrowest format that holds all of its elements, whatever the tensor's dtype is: half of the distance
  // between 1 and the next number.
  double before_unit = 0.0;
  double after_unit = 0.0;

  std::int64_t rows() const { return sequences * tokens; }
  const double* x(std::int64_t row, std::int64_t head) const { return before.data() + (row * heads + head) * channels; }
  const double* y(std::int64_t row, std::int64_t head) const { return after.data() + (row * heads + head) * channels; }
};

// Throws Error for views that are no pair of tensors, and for elements that are not finite.
Samples samples_of(const ConstTensorView& before, const ConstTensorView& after);

// The variance of rounding y to a format of that unit: an ulp is at most 2 u |y|, and the error uniform in it.
inline double rounding_variance(double unit, double square) { return unit * unit * square / 3; }

}  // namespace posenc::inline v0_2::port
