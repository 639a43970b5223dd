// What rounding numbers have seen, whatever dtype they are stored in.
#pragma once

#include <vector>

namespace posenc::inline v0_2::port {

// Of the narrowest format that holds all of the numbers: half of the distance between 1 and the next one. bfloat16 that
// was saved as float32 is bfloat16; what even float32 does not hold has 2^-50, eight roundings of doubles.
double unit_of(const std::vector<double>& values);

// What arithmetic rounds to: `bits` significant ones, the last place at 2^least or above.
struct ShortFormat {
  int bits = 53;
  int least = -1074;
  bool truncates = false;  // towards 0, else to nearest, ties to even
};
inline constexpr ShortFormat kBfloat16{8, -133};
inline constexpr ShortFormat kFloat16{11, -24};
inline constexpr ShortFormat kTf32{11, -136};
inline constexpr ShortFormat kTf32Truncated{11, -136, true};
double rounded_to(const ShortFormat& format, double x);

}  // namespace posenc::inline v0_2::port
