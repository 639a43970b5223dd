// What rounding numbers have seen, whatever dtype they are stored in.
#pragma once

#include <vector>

namespace posenc::inline v0_2::port {

// Of the narrowest format that holds all of the numbers: half of the distance between 1 and the next one. bfloat16 that
// was saved as float32 is bfloat16; what even float32 does not hold has 2^-50, eight roundings of doubles.
double unit_of(const std::vector<double>& values);

}  // namespace posenc::inline v0_2::port
