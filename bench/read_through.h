// The least that a step of decoding must do, and the unit that it is measured in: every 64-byte line is read once.
// Unrolled, without prefetching; the lines are combined by integer OR, so that the loads are needed.
#pragma once

#include <cstddef>

namespace posenc::bench {

// `bytes` is a multiple of 512, `data` of 64.
void read_through(const void* data, std::size_t bytes);

}  // namespace posenc::bench
