// Threads that are not ours: std::thread, one per task.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace posenc::test::caller_executor_test {
namespace {

struct Record {
  std::vector<std::int64_t> runs;  // the number of tasks of each
};

void on_std_threads(void* context, std::int64_t tasks, Task task, void* data) {
  static_cast<Record*>(context)->runs.push_back(tasks);
  std::vector<std::thread> threads;
  for (std::int64_t i = tasks - 1; i >= 0; --i) threads.emplace_back([=] { task(data, i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(CallersExecutor, RunsTheParts) {
  for (const std::int64_t threads : {1, 2, 3, 8}) {
    Record record;
    const Parallel parallel{.executor = {.context = &record, .run = on_std_threads, .threads = threads}};
    check_parallel("test", parallel);
    std::vector<int> times(100, 0);
    std::vector<std::thread::id> where(100);
    parallel_for(parallel, 100, 1, [&](std::int64_t first, std::int64_t last) noexcept {
      for (; first < last; ++first) {
        ++times[static_cast<std::size_t>(first)];
        where[static_cast<std::size_t>(first)] = std::this_thread::get_id();
      }
    });
    EXPECT_EQ(times, std::vector<int>(100, 1));
    if (threads == 1) {
      EXPECT_TRUE(record.runs.empty()) << "it is not asked for one part";
      EXPECT_EQ(where, std::vector<std::thread::id>(100, std::this_thread::get_id()));
    } else {
      EXPECT_EQ(record.runs, std::vector<std::int64_t>{threads});
      EXPECT_EQ(std::ranges::count(where, std::this_thread::get_id()), 0);
    }
  }
}

TEST(CallersExecutor, IsNotAskedForWorkTooSmallOrForOneThread) {
  Record record;
  Parallel parallel{.executor = {.context = &record, .run = on_std_threads, .threads = 4}};
  const auto nothing = [](std::int64_t, std::int64_t) noexcept {};
  parallel_for(parallel, 0, 1, nothing);
  parallel_for(parallel, 1, 1, nothing);
  parallel_for(parallel, 19, 10, nothing);
  parallel.threads = 1;
  parallel_for(parallel, 100, 1, nothing);
  EXPECT_TRUE(record.runs.empty());
  parallel.threads = 3;
  parallel_for(parallel, 20, 10, nothing);
  parallel_for(parallel, 100, 10, nothing);
  EXPECT_EQ(record.runs, (std::vector<std::int64_t>{2, 3}));
}

TEST(CallersExecutor, WhatItThrowsReachesTheCaller) {
  const auto refuse = [](void*, std::int64_t, Task, void*) { throw std::runtime_error("shutting down"); };
  const Parallel parallel{.executor = {.run = refuse, .threads = 2}};
  EXPECT_THROW(parallel_for(parallel, 2, 1, [](std::int64_t, std::int64_t) noexcept {}), std::runtime_error);
}

}  // namespace
}  // namespace posenc::test::caller_executor_test
