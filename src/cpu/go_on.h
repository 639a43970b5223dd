// Whether a call of several threads is still wanted: its caller is asked by one thread at a time.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

namespace posenc::cpu {

class GoOn {
 public:
  // Without a function: always.
  explicit GoOn(const std::function<bool()>& ask) : ask_(ask) {}
  GoOn(const GoOn&) = delete;
  GoOn& operator=(const GoOn&) = delete;

  bool operator()() noexcept {
    if (!ask_ || is_stopped_.load(std::memory_order_relaxed)) return !is_stopped_;
    const std::unique_lock lock(asking_, std::try_to_lock);
    if (!lock) return true;
    try {
      if (!is_stopped_ && !ask_()) is_stopped_ = true;
    } catch (...) {
      thrown_ = std::current_exception();
      is_stopped_ = true;
    }
    return !is_stopped_;
  }

  // Whether it has been answered no, for work that is not begun yet: nobody is asked.
  bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

  // What the caller's function has answered, or thrown. Once the threads are done.
  bool answer() const {
    if (thrown_) std::rethrow_exception(thrown_);
    return !is_stopped_;
  }

 private:
  const std::function<bool()>& ask_;
  std::mutex asking_;
  std::atomic<bool> is_stopped_ = false;
  std::exception_ptr thrown_;
};

}  // namespace posenc::cpu
