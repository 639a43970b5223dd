// In which order tasks add to what they share: each waits for the task before it, so sums are the same to the bit
// whatever the number of threads, and there is one of each (as FlashAttention's deterministic mode has it, without its
// buffers).
//
// Tasks are begun in their order (call/run_tasks.h), and none waits for a later one: the first that is not done never
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

namespace posenc::cpu {

class TaskOrder {
 public:
  explicit TaskOrder(std::int64_t tasks) : done_(static_cast<std::size_t>(tasks)) {}

  // Until `task` has done so many steps. None is before the first task.
  void wait(std::int64_t task, std::int64_t steps) const noexcept {
    if (task < 0) return;
    const std::atomic<std::int64_t>& own = done_[static_cast<std::size_t>(task)];
    for (std::int64_t now = own.load(std::memory_order_acquire); now < steps;
         now = own.load(std::memory_order_acquire)) {
      own.wait(now, std::memory_order_acquire);
    }
  }
  // The task has done so many.
  void pass(std::int64_t task, std::int64_t steps) noexcept {
    std::atomic<std::int64_t>& own = done_[static_cast<std::size_t>(task)];
    own.store(steps, std::memory_order_release);
    own.notify_all();
  }

  static constexpr std::int64_t kAllTiles = std::numeric_limits<std::int64_t>::max() - 1;
  static constexpr std::int64_t kAll = kAllTiles + 1;  // and what the task has summed of tables

 private:
  std::vector<std::atomic<std::int64_t>> done_;
};

}  // namespace posenc::cpu
