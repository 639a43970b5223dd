// The least that a rotation in place can do, and the unit that it is measured in: every 64-byte line is read, combined
// with a constant by integer XOR, and written back. Unrolled, without prefetching.
#pragma once

#include <cstddef>

namespace posenc::bench {

// `bytes` is a multiple of 512, `data` of 64. The constant is 0, which the compiler does not know: the data stay.
void xor_in_place(void* data, std::size_t bytes);

}  // namespace posenc::bench
