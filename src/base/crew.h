// The workers of a pool, and how work is handed to them: one word of state per worker, no lock.
//
//   idle -> offered   by the caller, who has written the job before
//   offered -> taken  by the worker, which reads the job only now
//   offered -> idle   by the caller, who does the group itself: the worker was late, and has seen nothing of the job
//   taken -> idle     by the worker, when it is done
//   taken -> awaited  by the caller, before it sleeps until the worker is done
//   idle -> asleep    by the worker, before it sleeps until the next offer
//   idle, asleep -> stop
//
// A caller that is done with its own group takes back what no worker has begun, last group first (the last to be woken
// is the last to come). So no call waits for a thread to wake, and one whose workers are late, or were refused by the
// system, takes as long as one thread alone. When run returns, every word is idle or asleep and a worker that comes
// late finds nothing: no count of calls is needed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/placement.h"
#include "posenc/parallel.h"

namespace posenc::inline v0_2 {

// Where part `part` of `parts` begins: `count` in contiguous parts that differ by one at most, the larger ones first.
constexpr std::int64_t part_begin(std::int64_t count, std::int64_t parts, std::int64_t part) noexcept {
  const std::int64_t larger = count % parts;
  return part * (count / parts) + (part < larger ? part : larger);
}

struct Job {
  std::int64_t tasks = 0;
  Task task = nullptr;
  void* data = nullptr;

  void run(std::int64_t first, std::int64_t last) const noexcept {
    for (; first < last; ++first) task(data, first);
  }
};

class Crew {
 public:
  // Of options.threads - 1 workers. Without memory for them there are none; a thread that the system refuses is not
  // there.
  explicit Crew(const ThreadPoolOptions& options) noexcept;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Does the job on the calling thread and as many workers as there are and the job has use for. One call at a time.
  void run(const Job& job) noexcept;
  // Ends the workers and waits for them. A forked child has none, and goes without: the destructor does not look.
  void stop() noexcept;

 private:
  // Apart by two cache lines, because processors fetch them in pairs.
  struct alignas(128) Worker {
    std::atomic<int> state{};
    std::int64_t group = 0;  // what it does of a job; from 1, as 0 is the caller's
    Crew* crew = nullptr;
    pthread_t thread{};
    bool started = false;
    Placement::Worker place{};  // the caller's
  };

  void start() noexcept;
  void work(Worker& worker) noexcept;
  void run_group(std::int64_t group) const noexcept;
  void await(Worker& worker) noexcept;

  std::unique_ptr<Worker[]> workers_;  // [count_]
  std::int64_t count_;
  std::chrono::nanoseconds spin_;
  Placement placement_;
  Job job_;
  std::int64_t groups_ = 0;  // of the job's tasks: one for the caller, one for each worker that takes part
};

}  // namespace posenc::inline v0_2
