#include "read_through.h"

#include <cstdint>

namespace posenc::bench {
namespace {

using Line [[gnu::vector_size(64)]] = std::uint64_t;

constexpr std::size_t kUnrolled = 8;

volatile std::uint64_t kept;

}  // namespace

// The widest registers that the machine has; a line is one register of AVX-512.
#if defined(__x86_64__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
void read_through(const void* data, std::size_t bytes) {
  Line seen[kUnrolled] = {};
  const auto* line = static_cast<const Line*>(data);
  for (const Line* const end = line + bytes / sizeof(Line); line != end; line += kUnrolled) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kUnrolled; ++i) seen[i] |= line[i];
  }
  for (std::size_t i = 1; i < kUnrolled; ++i) seen[0] |= seen[i];
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < sizeof(Line) / sizeof all; ++i) all |= seen[0][i];
  kept = all;
}

}  // namespace posenc::bench
