// rotate_into_cache against the least that it can do: keys passed over once (xor_in_place.h), keys and values copied.
// One layer's KV cache of 8 heads of 128 channels; a row for each token, in order. "x" is how many times as fast as the
// limit: 1 is the speed of that pass over memory.
#include "posenc/cache.h"

#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "cpu/cache/check_cache.h"
#include "huge_memory.h"
#include "taking_turns.h"
#include "xor_in_place.h"

namespace {

using posenc::bench::Candidate;
using posenc::bench::HugeMemory;

constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kHeadDim = 128;
// Tokens of a block of the paged cache, vLLM's default.
constexpr std::int64_t kBlock = 16;
constexpr int kRounds = 31;
constexpr std::size_t kTimedBytes = std::size_t{4} << 20U;

void measure(std::int64_t tokens, posenc::DType dtype) {
  const std::int64_t rows = (tokens + kBlock - 1) / kBlock * kBlock;
  const std::size_t bytes = static_cast<std::size_t>(tokens * kHeads * kHeadDim * bytes_of(dtype));
  const std::size_t cache_bytes = static_cast<std::size_t>(rows * kHeads * kHeadDim * bytes_of(dtype));
  const HugeMemory k(bytes);
  // Offsets apart, so that no store shares the lower 12 bits of its address with the loads beside it.
  const HugeMemory v(bytes, 1024);
  const HugeMemory k_cache(cache_bytes, 2048);
  const HugeMemory v_cache(cache_bytes, 3072);
  const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = kHeadDim, .dim = kHeadDim, .base = 5e5};
  const posenc::RotaryTable table = make_table(rope, {.count = tokens});
  std::vector<std::int64_t> slots(static_cast<std::size_t>(tokens));
  std::iota(slots.begin(), slots.end(), 0);
  const posenc::CacheArgs plain{.k = posenc::tensor(k.data(), dtype, {tokens, kHeads, kHeadDim}),
                                .v = posenc::tensor(v.data(), dtype, {tokens, kHeads, kHeadDim}),
                                .table = &table,
                                .k_cache = posenc::tensor(k_cache.data(), dtype, {rows, kHeads, kHeadDim}),
                                .v_cache = posenc::tensor(v_cache.data(), dtype, {rows, kHeads, kHeadDim}),
                                .slots = slots,
                                .parallel = {.threads = 1}};
  posenc::CacheArgs paged = plain;
  paged.k_cache = posenc::tensor(k_cache.data(), dtype, {rows / kBlock, kBlock, kHeads, kHeadDim});
  paged.v_cache = posenc::tensor(v_cache.data(), dtype, {rows / kBlock, kBlock, kHeads, kHeadDim});
  posenc::CacheArgs normed = paged;
  normed.norm = posenc::KeyNorm{.scheme = {.kind = posenc::QkNorm::Kind::rms, .weighted = false}};

  const int calls = static_cast<int>(std::max<std::size_t>(1, kTimedBytes / bytes));
  const auto candidate = [&](const char* name, const std::function<void()>& run) {
    return Candidate{.name = name, .run = run, .calls = calls, .before = run};
  };
  // Keys passed over in place, then keys and values copied: each step at the speed of memory.
  const auto limit = [&] {
    posenc::bench::xor_in_place(k.data(), bytes);
    std::memcpy(k_cache.data(), k.data(), bytes);
    std::memcpy(v_cache.data(), v.data(), bytes);
  };
  const auto check = [&] { (void)posenc::cpu::check_cache("bench", paged); };
  std::vector<Candidate> candidates{candidate("xor of k, memcpy of k and v", limit),
                                    candidate("rotate_into_cache", [&] { (void)rotate_into_cache(plain); }),
                                    candidate("  in blocks of 16", [&] { (void)rotate_into_cache(paged); }),
                                    candidate("  with an rms norm too", [&] { (void)rotate_into_cache(normed); }),
                                    candidate("  the check of its arguments alone", check)};
  posenc::bench::take_turns(candidates, kRounds);
  std::printf("%lld tokens, %s\n", static_cast<long long>(tokens), std::string(name(dtype)).c_str());
  posenc::bench::print(candidates, static_cast<double>(tokens), "token");
}

}  // namespace

int main() {
  for (const posenc::DType dtype : {posenc::DType::f32, posenc::DType::f16, posenc::DType::bf16}) {
    for (const std::int64_t tokens : {1, 16, 64, 512, 4096}) measure(tokens, dtype);
  }
}
