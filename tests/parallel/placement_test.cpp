// Workers that are woken keep off the core of the caller, and are left where somebody else has put them.
#include "base/placement.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "posenc/parallel.h"

namespace posenc::placement_test {
namespace {

cpu_set_t cores_of_this_thread() {
  cpu_set_t cores;
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

std::vector<int> numbers(const cpu_set_t& cores) {
  std::vector<int> out;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &cores)) out.push_back(core);
  }
  return out;
}

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

// What a worker of the pool is let on, asked by itself in a call from this thread, which is made again until a worker
// comes in time.
std::vector<int> seen_by_worker(const ThreadPool& pool) {
  const auto here = std::this_thread::get_id();
  std::vector<int> seen;
  for (int calls = 0; seen.empty() && calls < 1000; ++calls) {
    parallel_for({.executor = pool.executor()}, 2, 1, [&](std::int64_t part, std::int64_t) noexcept {
      if (std::this_thread::get_id() != here) seen = numbers(cores_of_this_thread());
      if (part == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the worker sleeps by then
  }
  return seen;
}

// Calls `use` with the cores of this thread, on a thread of its own that has a pool and has called it.
template <typename Use>
void with_pool(ThreadPoolOptions options, const Use& use) {
  const std::vector<int> cores = numbers(cores_of_this_thread());
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  options.spin = std::chrono::nanoseconds(0);
  std::thread([&] {
    const ThreadPool pool(options);
    seen_by_worker(pool);
    use(pool, cores);
  }).join();
}

TEST(Placement, KeepsAWorkerOffTheCallersCore) {
  with_pool({.threads = 2}, [](const ThreadPool& pool, const std::vector<int>& cores) {
    for (const int core : {cores[0], cores[1], cores[0]}) {
      stay_on(core);
      seen_by_worker(pool);
      std::vector<int> others = cores;
      std::erase(others, core);
      EXPECT_EQ(seen_by_worker(pool), others);
    }
  });
}

TEST(Placement, LeavesAWorkerWhereSomebodyElsePutIt) {
  with_pool({.threads = 2}, [](const ThreadPool& pool, const std::vector<int>& cores) {
    const auto here = std::this_thread::get_id();
    int put = -1;  // on a core where the worker was not let before
    for (int calls = 0; put < 0 && calls < 1000; ++calls) {
      parallel_for({.executor = pool.executor()}, 2, 1, [&](std::int64_t part, std::int64_t) noexcept {
        if (std::this_thread::get_id() != here) {
          std::vector<int> others = cores;
          for (const int core : numbers(cores_of_this_thread())) std::erase(others, core);
          if (!others.empty()) stay_on(put = others.front());
        }
        if (part == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      });
    }
    ASSERT_GE(put, 0);
    for (const int core : {cores[0], cores[1], cores[0]}) {
      stay_on(core);
      seen_by_worker(pool);
      EXPECT_EQ(seen_by_worker(pool), std::vector{put});
    }
  });
}

TEST(Placement, MovesNobodyWhereThereAreMoreThreadsThanCores) {
  const auto all = static_cast<std::int64_t>(numbers(cores_of_this_thread()).size());
  with_pool({.threads = all + 1}, [](const ThreadPool& pool, const std::vector<int>& cores) {
    stay_on(cores[0]);
    seen_by_worker(pool);
    EXPECT_EQ(seen_by_worker(pool), cores);
  });
}

TEST(Placement, MovesNobodyWhereItIsToldNot) {
  with_pool({.threads = 2, .keep_off_caller = false}, [](const ThreadPool& pool, const std::vector<int>& cores) {
    for (const int core : {cores[0], cores[1]}) {
      stay_on(core);
      seen_by_worker(pool);
      EXPECT_EQ(seen_by_worker(pool), cores);
    }
  });
}

}  // namespace
}  // namespace posenc::placement_test
