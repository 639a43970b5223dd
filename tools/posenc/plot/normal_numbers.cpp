// Normal numbers that are the same on every machine: each is a sum of twelve uniform ones.
#include "plot/normal_numbers.h"

#include <random>

namespace posenc::tool {

// Sums of twelve numbers from 0 to 1, less 6: std::normal_distribution differs between libraries, and logarithms
// between machines.
// Uniform numbers in [0, 1) have the mean 1/2 and the variance 1/12, so twelve have 6 and 1. Each is made of the upper
// 53 of 64 bits, which a double holds exactly.
std::vector<double> normal_numbers(std::uint64_t seed, std::int64_t count) {
  std::mt19937_64 random(seed);
  std::vector<double> out;
  for (std::int64_t n = 0; n < count; ++n) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    out.push_back(sum);
  }
  return out;
}

}  // namespace posenc::tool
