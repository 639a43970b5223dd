// A forked child has none of its parent's threads. It must neither wait for them nor hand work to them, in whatever
// state the fork found them.
#include <gtest/gtest.h>
#include <signal.h>  // kill: POSIX
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/parallel.h"
#include "meeting.h"

namespace posenc::test::fork_test {
namespace {

// Runs `work` in a forked child. True when it returned true; false as well when it has not ended after a minute.
template <typename Work>
bool in_a_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  if (child < 0) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether so many parts of a call each have a thread.
bool have_threads(const Parallel& parallel, std::int64_t count) {
  Meeting meeting(static_cast<int>(count));
  std::atomic<int> met{0};
  parallel_for(parallel, count, 1, [&](std::int64_t, std::int64_t) noexcept { met += meeting.wait() ? 1 : 0; });
  return met == count;
}
bool has_two_threads(const Parallel& parallel) { return have_threads(parallel, 2); }

bool sums_right(const Parallel& parallel) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(parallel, 100, 1, [&sum](std::int64_t first, std::int64_t last) noexcept { sum += last - first; });
  return sum == 100;
}

class Fork : public testing::TestWithParam<std::chrono::nanoseconds> {
 protected:
  ThreadPool pool_{{.threads = 2, .spin = GetParam()}};
  Parallel parallel_{.executor = pool_.executor()};
};

INSTANTIATE_TEST_SUITE_P(Spins, Fork, testing::Values(std::chrono::nanoseconds(0), std::chrono::seconds(10)),
                         [](const auto& spin) { return spin.param.count() == 0 ? "asleep" : "awake"; });

TEST_P(Fork, ChildHasWorkersOfItsOwn) {
  ASSERT_TRUE(has_two_threads(parallel_));
  EXPECT_TRUE(in_a_child([&] { return has_two_threads(parallel_) && has_two_threads(parallel_); }));
  EXPECT_TRUE(has_two_threads(parallel_)) << "and the parent keeps its own";
}

TEST_P(Fork, ChildOfAChildToo) {
  ASSERT_TRUE(has_two_threads(parallel_));
  EXPECT_TRUE(in_a_child([&] {
    return has_two_threads(parallel_) && in_a_child([&] { return has_two_threads(parallel_); }) &&
           has_two_threads(parallel_);
  }));
}

TEST_P(Fork, BeforeTheFirstUse) {
  EXPECT_TRUE(in_a_child([&] { return has_two_threads(parallel_); }));
  EXPECT_TRUE(has_two_threads(parallel_));
}

// The fork meets the pool in every state: another thread of the parent does nothing but call it.
TEST_P(Fork, WhileAnotherThreadIsCalling) {
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) sums_right(parallel_);
  });
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(in_a_child([&] { return sums_right(parallel_) && has_two_threads(parallel_); })) << i;
  }
  stop = true;
  caller.join();
}

// For certain in the middle of a call, both of its parts begun.
TEST_P(Fork, WhileAWorkerIsAtWork) {
  Meeting began(3);
  Meeting ended(3);
  std::thread caller([&] {
    parallel_for(parallel_, 2, 1, [&](std::int64_t, std::int64_t) noexcept {
      began.wait();
      ended.wait();
    });
  });
  ASSERT_TRUE(began.wait());
  EXPECT_TRUE(in_a_child([&] { return has_two_threads(parallel_); }));
  EXPECT_TRUE(ended.wait());
  caller.join();
}

TEST_P(Fork, ChildMayEndThePool) {
  std::optional<ThreadPool> pool;
  for (const bool used : {false, true}) {
    pool.emplace(ThreadPoolOptions{.threads = 3, .spin = GetParam()});
    ASSERT_TRUE(have_threads({.executor = pool->executor()}, 3)) << "none of them is still starting, with locks held";
    EXPECT_TRUE(in_a_child([&] {
      if (used && !has_two_threads({.executor = pool->executor()})) return false;
      pool.reset();
      return true;
    }));
  }
}

// exit() ends the process's own pool, which in the child is the parent's or, once it is used, its own.
TEST(ForkOfTheProcess, ChildUsesAndEndsTheProcessesPool) {
  for (const bool used : {false, true}) {
    ASSERT_TRUE(have_threads({}, default_threads())) << "none of them is still starting, with locks held";
    EXPECT_TRUE(in_a_child([&] {
      if (used && !sums_right({})) return false;
      std::exit(0);
      return false;
    }));
  }
}

}  // namespace
}  // namespace posenc::test::fork_test
