// RMW: read, modify and write every line once. The rotation in place moves the same bytes and computes besides, so that
// the best time over that of this loop is about 1.
#include "xor_in_place.h"

#include <cstdint>

namespace posenc::bench {
namespace {

// A line of the caches. GCC makes as many registers of it as the target needs.
using Line [[gnu::vector_size(64)]] = std::uint64_t;

// 512 bytes a step, a multiple of which xor_in_place takes.
constexpr std::size_t kUnrolled = 8;

// Read at run time: with a 0 that the compiler knew, it would drop the loop.
volatile std::uint64_t zero = 0;

}  // namespace

// The widest registers that the machine has; a line is one register of AVX-512.
#if defined(__x86_64__) && !defined(POSENC_NO_CLONES)  // Zig links nothing that would choose among them
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
void xor_in_place(void* data, std::size_t bytes) {
  const std::uint64_t constant = zero;
  auto* line = static_cast<Line*>(data);
  for (const Line* const end = line + bytes / sizeof(Line); line != end; line += kUnrolled) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kUnrolled; ++i) line[i] ^= constant;
  }
}

}  // namespace posenc::bench
