// The numbers of golden vectors: whole multiples of a power of two, of at most 7 bits, so that bfloat16 (8 bits),
// float16 (11) and float32 (24) all hold them exactly and every port starts from the same ones. A function of the
// tensor's name alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace posenc::inline v0_2::golden {

// n / 2^bits with n from low to high, evenly: not symmetrical about 0 where low and high are not.
struct Spread {
  std::int64_t low = -96;
  std::int64_t high = 127;
  int bits = 6;
};

std::vector<double> drawn(std::string_view name, std::int64_t count, const Spread& spread = {});

}  // namespace posenc::inline v0_2::golden
