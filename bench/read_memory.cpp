// Memory bandwidth as one thread sees it: the unit of decode, whose least work is to read keys and values once.
#include "read_memory.h"

namespace posenc::bench {
namespace {

using Line [[gnu::vector_size(64)]] = std::uint64_t;

// As many sums, so that no XOR waits for the one before it.
constexpr std::size_t kUnrolled = 8;

}  // namespace

// The widest registers that the machine has; a line is one register of AVX-512.
#if defined(__x86_64__) && !defined(POSENC_NO_CLONES)  // Zig links nothing that would choose among them
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
std::uint64_t
read_memory(const void* data, std::size_t bytes) noexcept {
  Line all[kUnrolled] = {};
  const auto* line = static_cast<const Line*>(data);
  for (const Line* const end = line + bytes / sizeof(Line); line != end; line += kUnrolled) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kUnrolled; ++i) all[i] ^= line[i];
  }
  std::uint64_t out = 0;
  for (const Line& one : all) {
    for (std::size_t i = 0; i < 8; ++i) out ^= one[i];
  }
  return out;
}

}  // namespace posenc::bench
