#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "base/parallel.h"
#include "meeting.h"
#include "support/heap_probe.h"
#include "support/throws.h"

namespace posenc::test::parallel_for_test {
namespace {

using Part = std::pair<std::int64_t, std::int64_t>;  // first, last

// The parts of one call, in order. Each adds one to its indexes of `times`, without any lock of its own.
std::vector<Part> run(const Parallel& parallel, std::int64_t grain, std::vector<int>& times) {
  std::mutex mutex;
  std::vector<Part> parts;
  parallel_for(parallel, std::ssize(times), grain, [&](std::int64_t first, std::int64_t last) noexcept {
    for (std::int64_t i = first; i < last; ++i) ++times[static_cast<std::size_t>(i)];
    const std::lock_guard lock(mutex);
    parts.emplace_back(first, last);
  });
  std::ranges::sort(parts);
  return parts;
}

TEST(ParallelFor, EveryIndexOnceInEqualPartsWhateverTheThreads) {
  for (const std::int64_t threads : {1, 2, 3, 8}) {
    const ThreadPool pool({.threads = threads});
    for (std::int64_t count = 0; count <= 67; ++count) {
      for (const std::int64_t grain : {1, 2, 10, 100}) {
        std::vector<int> times(static_cast<std::size_t>(count), 0);
        const std::vector<Part> parts = run({.executor = pool.executor()}, grain, times);
        EXPECT_TRUE(std::ranges::all_of(times, [](int n) { return n == 1; })) << count;
        const std::int64_t expected = count == 0 ? 0 : std::clamp<std::int64_t>(count / grain, 1, threads);
        ASSERT_EQ(std::ssize(parts), expected) << count << " by " << grain << " on " << threads;
        std::int64_t next = 0;
        for (const Part& part : parts) {
          EXPECT_EQ(part.first, next);
          const std::int64_t size = part.second - part.first;
          EXPECT_TRUE(size == count / expected || size == count / expected + 1) << size << " of " << count;
          EXPECT_TRUE(expected == 1 || size >= grain) << size << " by " << grain;
          next = part.second;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

TEST(ParallelFor, AsManyThreadsAsAreAllowed) {
  const ThreadPool pool({.threads = 8});
  for (const std::int64_t threads : {0, 1, 3, 8, 9}) {
    std::vector<int> times(100);
    const std::vector<Part> parts = run({.threads = threads, .executor = pool.executor()}, 1, times);
    EXPECT_EQ(std::ssize(parts), threads == 0 || threads > 8 ? 8 : threads);
  }
}

TEST(ParallelFor, LongRangesDoNotOverflow) {
  const ThreadPool pool({.threads = 3});
  std::atomic<std::int64_t> sum{0};
  parallel_for({.executor = pool.executor()}, INT64_MAX, 1,
               [&sum](std::int64_t first, std::int64_t last) noexcept { sum += last - first; });
  EXPECT_EQ(sum, INT64_MAX);
}

TEST(ParallelFor, ACallFromABodyRunsOnItsThread) {
  const ThreadPool pool({.threads = 2});
  const ThreadPool other({.threads = 2});
  std::atomic<int> whole{0};
  parallel_for({.executor = pool.executor()}, 2, 1, [&](std::int64_t, std::int64_t) noexcept {
    const std::thread::id outer = std::this_thread::get_id();
    for (const Executor& executor : {pool.executor(), other.executor(), Executor{}}) {
      parallel_for({.executor = executor}, 64, 1, [&](std::int64_t first, std::int64_t last) noexcept {
        if (first == 0 && last == 64 && std::this_thread::get_id() == outer) ++whole;
      });
    }
  });
  EXPECT_EQ(whole, 2 * 3);
  std::vector<int> times(64);
  EXPECT_EQ(run({.executor = other.executor()}, 1, times).size(), 2U) << "and afterwards calls have threads again";
}

TEST(ParallelFor, AllocatesNothing) {
  const ThreadPool pool({.threads = 3});
  std::atomic<std::int64_t> sum{0};
  const auto call = [&] {
    parallel_for({.executor = pool.executor()}, 30, 1,
                 [&sum](std::int64_t first, std::int64_t last) noexcept { sum += last - first; });
  };
  call();
  const HeapProbe probe;
  for (int i = 0; i < 100; ++i) call();
  EXPECT_EQ(probe.peak_growth(), 0);
  EXPECT_EQ(sum, 101 * 30);
}

TEST(CheckParallel, SaysWhatIsWrong) {
  const auto run = [](void*, std::int64_t, Task, void*) {};
  int context = 0;
  EXPECT_NO_THROW(check_parallel("rotate", {.threads = 1}));
  EXPECT_NO_THROW(check_parallel("rotate", {.executor = {.run = run, .threads = 1}}));
  EXPECT_ERROR(check_parallel("rotate", {.threads = -1}), "[rotate] parallel.threads must be at least 0 but is -1");
  EXPECT_ERROR(check_parallel("rotate", {.executor = {.run = run}}),
               "[rotate] parallel.executor.threads must be at least 1 but is 0");
  EXPECT_ERROR(check_parallel("rotate", {.executor = {.context = &context}}),
               "[rotate] parallel.executor.run must be a function but is null");
  EXPECT_ERROR(check_parallel("rotate", {.executor = {.threads = 2}}),
               "[rotate] parallel.executor.run must be a function but is null");
}

// What POSENC_THREADS stands for; nothing where it means nothing.
std::optional<std::int64_t> meant(const std::string& set) {
  if (set.empty() || set == "0") return available_cores();
  for (const std::int64_t number : {1, 3, 1024}) {
    if (set == std::to_string(number)) return number;
  }
  return {};
}

// Whatever POSENC_THREADS says in this process; tests/parallel/CMakeLists.txt runs it with each value.
TEST(Environment, SaysHowManyThreadsTheProcessHas) {
  const char* given = std::getenv("POSENC_THREADS");
  const std::string set = given == nullptr ? "" : given;
  const std::optional<std::int64_t> threads = meant(set);
  if (!threads) {
    const std::string message = "[POSENC_THREADS] must be a whole number from 0 to 1024 but is " + set;
    EXPECT_ERROR((void)default_threads(), message.c_str());
    EXPECT_ERROR(check_parallel("rotate", {}), message.c_str());
    EXPECT_ERROR(ThreadPool{}, message.c_str());
    EXPECT_NO_THROW(check_parallel("rotate", {.threads = 1})) << "where it is not asked";
    return;
  }
  EXPECT_EQ(default_threads(), *threads);
  EXPECT_EQ(ThreadPool().threads(), *threads);
  if (*threads > 16) return;  // as many in earnest are for machines that have them
  Meeting meeting(static_cast<int>(*threads));
  std::atomic<std::int64_t> met{0};
  parallel_for({}, 100, 1, [&](std::int64_t, std::int64_t) noexcept { met += meeting.wait() ? 1 : 0; });
  EXPECT_EQ(met, *threads);
}

}  // namespace
}  // namespace posenc::test::parallel_for_test
