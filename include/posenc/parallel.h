// How many threads a call may use, and whose they are.
//
// A call cuts its work into contiguous parts, at most one a thread, the calling thread's included. The cuts depend on
// the work and on the number of threads alone, so which thread is late changes no result. Work too small to gain runs
// on the calling thread alone.
//
// Whose threads: those of an Executor that the caller passes (an engine's own, torch's, ggml's, a ThreadPool), or, when
// none is passed, those of the pool that the process has for posenc. That pool is the library's one piece of state that
// changes: nearly every caller wants one set of threads for all calls, and a pool per call, per table or per engine
// object would put more threads than cores on the machine. It starts when it is first needed and ends with the process.
// Who wants no such thing passes an Executor, and none of its threads is ever made.
//
// The environment variable POSENC_THREADS says how many threads that pool has, the calling thread counted: a whole
// number from 1 to 1024. Empty, 0 or not set, it is as many as there are cores to run on. Anything else makes the first
// call that would use the pool throw Error.
//
// Its kernel side is src/base/parallel.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "posenc/export.h"

namespace posenc::inline v0_2 {

// One of the tasks of a run: index is its number.
using Task = void (*)(void* data, std::int64_t index);

// Somebody's threads. `run` calls task(data, 0) ... task(data, tasks - 1), each exactly once, in any order, on any
// threads, the calling one if it likes, and returns when all have returned; what they wrote is then visible to the
// caller. It may be called from several threads at once. Tasks do not throw, do not wait for each other and do not call
// `run` again. What `run` itself throws passes through to the caller of the library; no task may be running by then.
//
//   Executor torchs{.run = [](void*, std::int64_t tasks, Task task, void* data) {
//                     at::parallel_for(0, tasks, 1, [&](std::int64_t first, std::int64_t last) {
//                       for (; first < last; ++first) task(data, first);
//                     });
//                   },
//                   .threads = at::get_num_threads()};
struct Executor {
  void* context = nullptr;  // handed to run as it is
  void (*run)(void* context, std::int64_t tasks, Task task, void* data) = nullptr;
  std::int64_t threads = 0;  // how many tasks it can have under way at once; at least 1
};

struct Parallel {
  std::int64_t threads = 0;  // at most so many; 0: all of the executor's. 1: only the calling thread, no executor asked
  Executor executor = {};    // without a run: the process's own pool
};

struct ThreadPoolOptions {
  // The thread that calls run is one of them. 0: what POSENC_THREADS says; failing that, the cores that the thread that
  // makes the pool may run on (its affinity), and no more than the control group's quota pays for, rounded down.
  std::int64_t threads = 0;
  // How long a worker without work looks for some before it sleeps; from 0 to an hour. Waking one costs microseconds,
  // finding one awake a fraction of one (docs/threads.md). For many small calls in a row, take a time longer than what
  // lies between them; the price is a core that is never idle for so long.
  std::chrono::nanoseconds spin = std::chrono::microseconds(20);
  // Whether a worker that is woken, or was late, is let on all its cores but the one that the caller is on, where Linux
  // likes to put it (docs/threads.md); not where there are fewer cores than threads. No: workers' affinity is never
  // set.
  bool keep_off_caller = true;
};

// Threads of our own: one that calls and threads - 1 workers, started by the first run that needs them.
//
// Workers inherit the affinity of the thread that starts them, but for keep_off_caller, are called "posenc/1",
// "posenc/2", ... and have every signal blocked but those that a fault of their own raises. A system that refuses a
// thread leaves its tasks to the caller: slower, not wrong.
//
// Thread safety: any thread may run. One run uses the workers at a time; a run that finds them taken, by another thread
// or by the run that it is a task of, does its tasks itself, at once and in order.
//
// After fork(), the child's first run starts workers of its own, whatever the parent's were doing.
class POSENC_API ThreadPool {
 public:
  // Throws Error for options outside their ranges, and for a POSENC_THREADS that is asked and means nothing.
  explicit ThreadPool(const ThreadPoolOptions& options = {});
  // Ends the workers. No run may be under way.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::int64_t threads() const noexcept;
  // Valid as long as this pool is.
  Executor executor() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How many threads the process's own pool has: what Parallel{} stands for. Decided once, by the first that asks, in the
// way of ThreadPoolOptions::threads = 0. Throws Error while POSENC_THREADS means nothing.
POSENC_API std::int64_t default_threads();

}  // namespace posenc::inline v0_2
