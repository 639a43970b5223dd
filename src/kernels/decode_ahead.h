// How far ahead of what decode multiplies memory is fetched, in the order of the products, and how far where it is
// asked for again (kernels/decode_loop.h says why it is). Of f32 that is asked for twice, 24 and 16 KiB are as good, 16
// and 0 to 8 slower; of what is asked for once 8 KiB is slower than 16, and 16 to 128 within the spread of each other.
#pragma once

#include <cstdint>

namespace posenc::kernels {

constexpr std::int64_t kBytesAhead = 32 << 10;
constexpr std::int64_t kBytesAgain = 16 << 10;

}  // namespace posenc::kernels
