// posenc/parallel.h: the process's own pool and its size (POSENC_THREADS, or base/cores.h), ThreadPool, and
// parallel_for, which cuts a range into contiguous parts, at most one a thread.
//
//   parts = min(threads, max(1, count / grain))      part p of n: as many indexes as any other, or one more
//
// Cuts depend on the count and the number of threads alone, never on which thread is late.
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>

#include "base/cores.h"
#include "base/escape.h"
#include "base/formatted.h"
#include "base/pool.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kMaxThreads = 1024;
constexpr std::chrono::nanoseconds kMaxSpin = std::chrono::hours(1);

constinit Pool process_pool;

// The process does not end while workers run: what they would touch is being taken down.
struct AtExit {
  ~AtExit() { process_pool.close(); }
};
const AtExit at_exit;

thread_local bool in_a_body = false;

std::string digits(std::int64_t number) { return formatted("{}", number); }

// What POSENC_THREADS says; without it the cores there are.
std::int64_t threads_to_be_had() {
  const char* const set = std::getenv("POSENC_THREADS");
  const std::string_view said = set == nullptr ? "" : set;
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), threads);
  const bool number = error == std::errc{} && end == said.data() + said.size();
  if (!said.empty() && (!number || threads < 0 || threads > kMaxThreads)) {
    throw Error("POSENC_THREADS", {"", "be a whole number from 0 to " + digits(kMaxThreads), escape(said)});
  }
  return threads != 0 ? threads : std::min(kMaxThreads, available_cores());
}

// One call of parallel_for.
struct Split {
  RangeBody body;
  const void* data;
  std::int64_t count;
  std::int64_t parts;
};

void run_part(void* data, std::int64_t part) {
  const Split& split = *static_cast<const Split*>(data);
  in_a_body = true;
  split.body(split.data, part_begin(split.count, split.parts, part), part_begin(split.count, split.parts, part + 1));
  in_a_body = false;
}

std::int64_t threads_of(const Parallel& parallel) {
  const std::int64_t all = parallel.executor.run == nullptr ? default_threads() : parallel.executor.threads;
  return parallel.threads == 0 ? all : std::min(all, parallel.threads);
}

}  // namespace

// Two threads that are here for the first time at once decide the same, unless the environment changes beside them.
std::int64_t default_threads() {
  static constinit std::atomic<std::int64_t> decided{0};
  std::int64_t threads = decided.load(std::memory_order_relaxed);
  if (threads == 0) {
    std::int64_t nothing = 0;
    threads = threads_to_be_had();
    if (!decided.compare_exchange_strong(nothing, threads, std::memory_order_relaxed)) threads = nothing;
  }
  return threads;
}

void check_parallel(std::string_view where, const Parallel& parallel) {
  const Executor& executor = parallel.executor;
  if (parallel.threads < 0) throw Error(where, {"parallel.threads", "be at least 0", digits(parallel.threads)});
  if (executor.run != nullptr && executor.threads < 1) {
    throw Error(where, {"parallel.executor.threads", "be at least 1", digits(executor.threads)});
  }
  if (executor.run == nullptr && (executor.context != nullptr || executor.threads != 0)) {
    throw Error(where, {"parallel.executor.run", "be a function", "null"});
  }
  if (executor.run == nullptr && parallel.threads != 1) (void)default_threads();  // may throw
}

void parallel_for(const Parallel& parallel, std::int64_t count, std::int64_t grain, RangeBody body, const void* data) {
  if (count <= 0) return;
  const std::int64_t worthwhile = count / std::max<std::int64_t>(1, grain);
  if (worthwhile < 2 || parallel.threads == 1 || in_a_body) return body(data, 0, count);
  const std::int64_t threads = threads_of(parallel);
  if (threads < 2) return body(data, 0, count);
  Split split{body, data, count, std::min(threads, worthwhile)};
  const Executor& executor = parallel.executor;
  if (executor.run != nullptr) {
    executor.run(executor.context, split.parts, run_part, &split);
  } else {
    process_pool.run({.threads = default_threads()}, {split.parts, run_part, &split});
  }
}

struct ThreadPool::State {
  explicit State(const ThreadPoolOptions& given) : options(given) {}

  const ThreadPoolOptions options;
  Pool pool;
};

ThreadPool::ThreadPool(const ThreadPoolOptions& options) {
  constexpr const char* kWhere = "ThreadPool";
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw Error(kWhere, {"threads", "be from 0 to " + digits(kMaxThreads), digits(options.threads)});
  }
  if (options.spin < options.spin.zero() || options.spin > kMaxSpin) {
    throw Error(kWhere, {"spin", "be from 0 ns to an hour", digits(options.spin.count()) + " ns"});
  }
  ThreadPoolOptions decided = options;
  if (decided.threads == 0) decided.threads = threads_to_be_had();
  state_ = std::make_unique<State>(decided);
}

ThreadPool::~ThreadPool() { state_->pool.close(); }

std::int64_t ThreadPool::threads() const noexcept { return state_->options.threads; }

Executor ThreadPool::executor() const noexcept {
  const auto run = [](void* context, std::int64_t tasks, Task task, void* data) {
    State& state = *static_cast<State*>(context);
    state.pool.run(state.options, {tasks, task, data});
  };
  return {.context = state_.get(), .run = run, .threads = state_->options.threads};
}

}  // namespace posenc::inline v0_2
