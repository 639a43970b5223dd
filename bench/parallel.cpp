// What it costs to hand half of some work to a second thread, and from how much work on that gains.
//
// Time is wall-clock, as a caller waits it out: on a machine that others use too, look at the medians and at the least.
// It times base/parallel.h itself, below every call of the library; docs/threads.md and docs/performance/threads.md
// have the figures.
#include "base/parallel.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/pause.h"
#include "taking_turns.h"

namespace {

using Clock = std::chrono::steady_clock;
using posenc::Parallel;
using posenc::ThreadPool;
using std::chrono::microseconds;

constexpr int kRounds = 31;
// The spin of the pool that is awake, and what lies between two candidates: their workers sleep by then, so that each
// candidate has the machine to itself.
constexpr microseconds kSpin(500);
constexpr microseconds kApart(1500);

// parallel: whose threads; seconds: of one call, [rounds].
struct Measured {
  const char* name;
  Parallel parallel;
  bool awake;  // timed after a call that wakes the workers, or after none
  std::vector<double> seconds = {};
};

double seconds_since(Clock::time_point before) { return std::chrono::duration<double>(Clock::now() - before).count(); }

// Each of as many parts as there are threads ends only when all have begun: the caller can take none back.
void meet(const Parallel& parallel) {
  const std::int64_t parts = parallel.threads == 1 ? 1 : parallel.executor.threads;
  std::atomic<std::int64_t> missing{parts};
  posenc::parallel_for(parallel, parts, 1, [&missing](std::int64_t, std::int64_t) noexcept {
    missing.fetch_sub(1);
    while (missing.load() > 0) posenc::pause();
  });
}

// The seconds of one call of `work(parallel)`, kRounds times, the candidates interleaved.
// calls: how many are timed together where workers are awake. Asleep, only the first call of a row finds them so.
template <typename Work>
void measure(std::vector<Measured>& candidates, int calls, const Work& work) {
  for (Measured& m : candidates) m.seconds.clear();
  for (int round = 0; round < kRounds; ++round) {
    for (Measured& m : candidates) {
      std::this_thread::sleep_for(kApart);
      if (m.awake) meet(m.parallel);
      const int repeats = m.awake ? calls : 1;
      const Clock::time_point before = Clock::now();
      for (int i = 0; i < repeats; ++i) work(m.parallel);
      m.seconds.push_back(seconds_since(before) / repeats);
    }
  }
}

void print_times(const std::vector<Measured>& candidates) {
  for (const Measured& m : candidates) {
    const posenc::bench::Spread time = posenc::bench::spread(m.seconds);
    std::printf("  %-34s %9.0f ns [%.0f, %.0f]\n", m.name, time.median * 1e9, time.least * 1e9, time.most * 1e9);
  }
}

// Two parts with nothing in them: what a call costs when the caller takes the second part back.
void empty(const Parallel& parallel) {
  posenc::parallel_for(parallel, 2, 1, [](std::int64_t, std::int64_t) noexcept {});
}

// Some work on memory: flips the signs of two floats at a time.
void rotate_bits(std::vector<std::uint64_t>& words, const Parallel& parallel) {
  std::uint64_t* const all = words.data();
  posenc::parallel_for(parallel, std::ssize(words), 8, [all](std::int64_t first, std::int64_t last) noexcept {
    for (std::int64_t i = first; i < last; ++i) all[i] ^= 0x8000000080000000;
  });
}

// A row of the table: "x 1.8" is 1.8 times as fast as one thread on so many bytes.
void print_gains(std::int64_t bytes, const std::vector<Measured>& candidates) {
  std::printf("  %8lld", static_cast<long long>(bytes));
  for (const Measured& m : candidates) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < m.seconds.size(); ++i) ratios.push_back(candidates.front().seconds[i] / m.seconds[i]);
    std::printf("  %9.2f us x %4.2f", posenc::bench::spread(m.seconds).median * 1e6,
                posenc::bench::spread(ratios).median);
  }
  std::printf("\n");
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // on a busy machine, lines are long in coming
  const ThreadPool spinning({.threads = 2, .spin = kSpin});
  const ThreadPool sleeping({.threads = 2, .spin = std::chrono::nanoseconds(0)});
  std::vector<Measured> candidates{{"one thread", {.threads = 1}, true},
                                   {"two, the worker awake", {.executor = spinning.executor()}, true},
                                   {"two, the worker asleep", {.executor = sleeping.executor()}, false}};
  std::printf("%d cores; median [least, most] of %d\n", static_cast<int>(std::thread::hardware_concurrency()), kRounds);
  std::printf("an empty loop (the caller takes back what no worker has begun)\n");
  measure(candidates, 200, empty);
  print_times(candidates);
  std::printf("a loop whose parts wait for each other: the whole way to the worker and back\n");
  measure(candidates, 10, meet);
  print_times(candidates);
  std::printf("8-byte XOR in place: time, and times as fast as one thread\n     bytes");
  for (const Measured& m : candidates) std::printf("  %s;", m.name);
  std::printf("\n");
  for (std::int64_t bytes = 4096; bytes <= (std::int64_t{16} << 20); bytes *= 4) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(bytes) / sizeof(std::uint64_t));
    measure(candidates, bytes < 1 << 20 ? 20 : 2, [&words](const Parallel& parallel) { rotate_bits(words, parallel); });
    print_gains(bytes, candidates);
  }
}
