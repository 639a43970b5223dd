// The rotation on two threads against one: how much faster, and that it is never slower. The second thread spins all
// the time, as one of an engine does between two of its calls (spin, parallel.h): one that is woken runs for
// milliseconds on the core of who woke it, so what would be measured is the scheduler. Time is wall-clock: needs two
// idle cores. What two cores and their memory give at most is what RMW (xor_in_place.h) gains there, which alternates
// with them: each thread passes over the half that it would rotate.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "huge_memory.h"
#include "posenc/rotate.h"
#include "taking_turns.h"
#include "xor_in_place.h"

namespace {

using posenc::bench::Candidate;

constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kHeadDim = 128;
constexpr int kRounds = 31;
// Longer than a run takes: the worker never sleeps.
constexpr std::chrono::minutes kSpin(10);
// At least so many bytes are rotated between two looks at the clock, in as many calls as it takes.
constexpr std::int64_t kTimedBytes = std::int64_t{4} << 20U;

// The halves of some memory, one for each of two tasks.
struct Halves {
  char* memory;
  std::size_t bytes;
};

// A task of an Executor (parallel.h): one half for each of the two threads.
void xor_half(void* data, std::int64_t index) {
  const Halves& halves = *static_cast<const Halves*>(data);
  const std::size_t half = halves.bytes / 2;
  posenc::bench::xor_in_place(halves.memory + static_cast<std::size_t>(index) * half, half);
}

// Two pairs of candidates, each printed over its own first: "x 1.9" is 1.9 times as fast as one thread.
void measure(std::int64_t tokens, posenc::DType dtype, const posenc::ThreadPool& pool) {
  const std::int64_t bytes = tokens * kHeads * kHeadDim * bytes_of(dtype);
  const posenc::bench::HugeMemory memory(static_cast<std::size_t>(bytes));
  const posenc::Rope rope{.pairing = posenc::Pairing::half, .head_dim = kHeadDim, .dim = kHeadDim, .base = 5e5};
  const posenc::RotaryTable table = make_table(rope, {.count = tokens});
  const posenc::RotateArgs one{.q = posenc::tensor(memory.data(), dtype, {tokens, kHeads, kHeadDim}),
                               .table = &table,
                               .parallel = {.threads = 1}};
  posenc::RotateArgs two = one;
  const posenc::Executor executor = pool.executor();
  two.parallel = {.executor = executor};
  const int calls = static_cast<int>(std::max<std::int64_t>(1, kTimedBytes / bytes));
  const auto candidate = [&](const char* name, const std::function<void()>& run) {
    // Three calls of the same kind, so that the caches of both cores hold what each of them works on.
    const auto warm = [run] {
      for (int i = 0; i < 3; ++i) run();
    };
    return Candidate{.name = name, .run = run, .calls = calls, .before = warm};
  };
  Halves halves{memory.data(), static_cast<std::size_t>(bytes)};
  std::vector<Candidate> rotated{candidate("one thread", [one] { (void)rotate(one); }),
                                 candidate("two threads", [two] { (void)rotate(two); })};
  std::vector<Candidate> passed{
      candidate("RMW, one thread", [&] { posenc::bench::xor_in_place(halves.memory, halves.bytes); }),
      candidate("RMW, two threads", [&] { executor.run(executor.context, 2, xor_half, &halves); })};
  for (int round = 0; round < kRounds; ++round) {
    posenc::bench::take_turns(rotated, 1, posenc::bench::wall_seconds);
    posenc::bench::take_turns(passed, 1, posenc::bench::wall_seconds);
  }
  std::printf("%lld tokens, %s\n", static_cast<long long>(tokens), std::string(name(dtype)).c_str());
  posenc::bench::print(rotated, static_cast<double>(tokens), "token");
  posenc::bench::print(passed, static_cast<double>(tokens), "token");
}

}  // namespace

int main() {
  const posenc::ThreadPool pool({.threads = 2, .spin = kSpin});
  for (const posenc::DType dtype : {posenc::DType::f32, posenc::DType::bf16}) {
    for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32, 64, 128, 512, 4096}) measure(tokens, dtype, pool);
  }
}
