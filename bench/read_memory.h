// What a pass over a cache is measured in: every 64-byte line of a range is read once, in order.
// For bench_attend and bench_decode_floors, and for `posenc bench attend`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace posenc::bench {

// `bytes` is a multiple of 512, `data` of 64. Returns the XOR of all words, which nobody needs.
std::uint64_t read_memory(const void* data, std::size_t bytes) noexcept;

}  // namespace posenc::bench
