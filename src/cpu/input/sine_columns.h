// Sines and cosines of a coordinate in the columns of a row, as a convention of sinusoidal encodings orders them
// (math/input/sinusoid.h), or as axis_sines does for one axis. Floats by the angle kernel, doubles by the C library.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/angles/angle_rows.h"
#include "kernels/kernels.h"
#include "posenc/schemes.h"

namespace posenc::cpu {

class SineColumns {
 public:
  enum class Order : std::uint8_t { interleaved, sines_first, cosines_first };

  // Columns of a whole row of `channels`. Frequencies are the nearest doubles.
  static SineColumns of(const SinusoidalInput& scheme, std::int64_t channels, double factor);
  // Of one axis; all have the same.
  static SineColumns of(const AxisSinesInput& scheme, std::int64_t channels);

  std::int64_t width() const noexcept { return width_; }
  std::int64_t pairs() const noexcept { return static_cast<std::int64_t>(inv_freq_.size()); }
  // Beyond it an angle would pass 2^53 radians.
  double largest() const noexcept { return rule_.largest_position(); }
  // What write() needs of `waves` for a row.
  std::int64_t wave_floats() const noexcept { return order_ == Order::interleaved ? 2 * pairs() : 0; }

  // The columns of `count` rows, `stride` apart, whose coordinates are x. Of an odd width the float after them may be
  // written too.
  void write(const kernels::KernelTable& kernels, const double* x, std::int64_t count, float* rows, std::int64_t stride,
             float* waves) const;
  void write(const double* x, std::int64_t count, double* rows, std::int64_t stride) const;

 private:
  SineColumns(std::vector<double> inv_freq, std::int64_t width, Order order, double factor);

  // Where the sine and the cosine of a pair stand; at width() or beyond: nowhere.
  std::int64_t sine_at(std::int64_t pair) const noexcept;
  std::int64_t cosine_at(std::int64_t pair) const noexcept;

  std::vector<double> inv_freq_;  // [pairs]
  std::int64_t width_;
  Order order_;
  double factor_;
  AngleRule rule_;
};

}  // namespace posenc::cpu
