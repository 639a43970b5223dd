#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>  // pthread_sigmask: POSIX

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "meeting.h"
#include "support/throws.h"

namespace posenc::test::thread_pool_test {
namespace {

using std::chrono::nanoseconds;

// Spins not at all, a little, and for longer than any test: asleep, in between, and awake.
constexpr std::array kSpins{nanoseconds(0), nanoseconds(2000), nanoseconds(std::chrono::minutes(1))};

TEST(ThreadPool, EachTaskOnceHoweverMany) {
  for (const nanoseconds spin : kSpins) {
    const ThreadPool pool({.threads = 3, .spin = spin});
    const Executor executor = pool.executor();
    EXPECT_EQ(executor.threads, 3);
    for (const std::int64_t tasks : {0, 1, 2, 3, 4, 100}) {
      std::vector<int> times(100, 0);
      const auto task = [](void* data, std::int64_t index) {
        ++(*static_cast<std::vector<int>*>(data))[static_cast<std::size_t>(index)];
      };
      executor.run(executor.context, tasks, task, &times);
      for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(times[static_cast<std::size_t>(i)], i < tasks ? 1 : 0);
    }
  }
}

TEST(ThreadPool, EachPartHasAThreadOfItsOwn) {
  for (const nanoseconds spin : kSpins) {
    const ThreadPool pool({.threads = 4, .spin = spin});
    for (int round = 0; round < 3; ++round) {
      Meeting meeting(4);
      std::atomic<int> met{0};
      parallel_for({.executor = pool.executor()}, 4, 1,
                   [&](std::int64_t, std::int64_t) noexcept { met += meeting.wait() ? 1 : 0; });
      EXPECT_EQ(met, 4);
    }
  }
}

// Call after call on one array: each reads what the one before wrote, on other threads' parts too.
TEST(ThreadPool, WhatOneCallWroteTheNextOneReads) {
  constexpr int kCalls = 2000;
  for (const nanoseconds spin : kSpins) {
    const ThreadPool pool({.threads = 3, .spin = spin});
    std::vector<std::int64_t> from(97, 0);
    std::vector<std::int64_t> to(97, 0);
    for (int call = 0; call < kCalls; ++call) {
      parallel_for({.executor = pool.executor()}, 97, 1, [&](std::int64_t first, std::int64_t last) noexcept {
        for (std::int64_t i = first; i < last; ++i) {
          to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(96 - i)] + 1;
        }
      });
      from.swap(to);
    }
    for (const std::int64_t value : from) ASSERT_EQ(value, kCalls);
  }
}

// A worker that outlasts the caller's patience: the caller sleeps until it is done, and is woken.
TEST(ThreadPool, WaitsForALateWorker) {
  const ThreadPool pool({.threads = 2, .spin = nanoseconds(0)});
  Meeting meeting(2);
  bool done = false;
  parallel_for({.executor = pool.executor()}, 2, 1, [&](std::int64_t first, std::int64_t) noexcept {
    meeting.wait();
    if (first == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = true;
  });
  EXPECT_TRUE(done);
}

TEST(ThreadPool, CallersAtOnceAreAllServed) {
  constexpr int kCallers = 4;
  constexpr int kCalls = 500;
  const ThreadPool pool({.threads = 3});
  std::atomic<int> wrong{0};
  const auto call = [&] {
    for (int i = 0; i < kCalls; ++i) {
      std::array<int, 31> times{};
      parallel_for({.executor = pool.executor()}, 31, 1, [&times](std::int64_t first, std::int64_t last) noexcept {
        for (; first < last; ++first) ++times[static_cast<std::size_t>(first)];
      });
      for (const int n : times) wrong += n == 1 ? 0 : 1;
    }
  };
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) callers.emplace_back(call);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// While one caller has the workers, another does not wait for them.
TEST(ThreadPool, WhoFindsTheWorkersTakenWorksAlone) {
  const ThreadPool pool({.threads = 2});
  Meeting began(3);  // two parts and the other caller
  Meeting ended(3);
  std::thread first([&] {
    parallel_for({.executor = pool.executor()}, 2, 1, [&](std::int64_t, std::int64_t) noexcept {
      began.wait();
      ended.wait();
    });
  });
  ASSERT_TRUE(began.wait());
  std::vector<std::int64_t> parts;  // not locked: one thread alone writes it
  const std::thread::id here = std::this_thread::get_id();
  parallel_for({.executor = pool.executor()}, 10, 1, [&](std::int64_t from, std::int64_t) noexcept {
    if (std::this_thread::get_id() == here) parts.push_back(from);
  });
  EXPECT_EQ(parts, (std::vector<std::int64_t>{0, 5})) << "the same parts as on two threads";
  EXPECT_TRUE(ended.wait());
  first.join();
}

TEST(ThreadPool, WorkersHaveNamesAndTakeNoSignals) {
  const ThreadPool pool({.threads = 3});
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Meeting meeting(3);
  std::array<std::array<char, 16>, 3> names{};
  std::array<sigset_t, 3> masks{};
  parallel_for({.executor = pool.executor()}, 3, 1, [&](std::int64_t first, std::int64_t) noexcept {
    const auto part = static_cast<std::size_t>(first);
    meeting.wait();
    pthread_getname_np(pthread_self(), names[part].data(), names[part].size());
    pthread_sigmask(SIG_SETMASK, nullptr, &masks[part]);
  });
  EXPECT_STREQ(names[1].data(), "posenc/1");
  EXPECT_STREQ(names[2].data(), "posenc/2");
  for (const int sent : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF}) {
    EXPECT_EQ(sigismember(&masks[1], sent), 1) << sent;
    EXPECT_EQ(sigismember(&masks[0], sent), sigismember(&before, sent)) << "the caller's own mask, " << sent;
  }
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) EXPECT_EQ(sigismember(&masks[2], fault), 0) << fault;
}

TEST(ThreadPool, RefusesOptionsOutOfRange) {
  using std::chrono::hours;
  EXPECT_ERROR(ThreadPool({.threads = -1}), "[ThreadPool] threads must be from 0 to 1024 but is -1");
  EXPECT_ERROR(ThreadPool({.threads = 1025}), "[ThreadPool] threads must be from 0 to 1024 but is 1025");
  EXPECT_ERROR(ThreadPool({.spin = nanoseconds(-1)}), "[ThreadPool] spin must be from 0 ns to an hour but is -1 ns");
  EXPECT_ERROR(ThreadPool({.spin = hours(1) + nanoseconds(1)}),
               "[ThreadPool] spin must be from 0 ns to an hour but is 3600000000001 ns");
}

TEST(ThreadPool, MadeAndEndedAgainAndAgain) {
  for (int i = 0; i < 200; ++i) {
    const ThreadPool pool({.threads = 3, .spin = kSpins[static_cast<std::size_t>(i) % kSpins.size()]});
    std::atomic<std::int64_t> sum{0};
    const int calls = i % 3;  // none: its workers are never started
    for (int call = 0; call < calls; ++call) {
      parallel_for({.executor = pool.executor()}, 9, 1,
                   [&sum](std::int64_t first, std::int64_t last) noexcept { sum += last - first; });
    }
    EXPECT_EQ(sum, calls * 9);
  }
}

}  // namespace
}  // namespace posenc::test::thread_pool_test
