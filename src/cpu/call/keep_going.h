// Cancellation of a call of several threads: the caller's keep_going callback, called by one thread at a time, so it
// need not be thread-safe. Once it has returned false or thrown, every thread stops at its next step.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace posenc::cpu {

class KeepGoing {
 public:
  // Without a function: always.
  explicit KeepGoing(const std::function<bool()>& ask) : ask_(ask) {}
  KeepGoing(const KeepGoing&) = delete;
  KeepGoing& operator=(const KeepGoing&) = delete;

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

  // Whether the call is cancelled already, for work that is not begun yet: the callback is not called.
  bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

  // What the callback has returned, or thrown. Once the threads are done.
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

// What one thread does in steps that are too short to ask after each.
class PacedKeepGoing {
 public:
  explicit PacedKeepGoing(KeepGoing& keep_going) : keep_going_(keep_going) {}

  // Whether to do a step that writes so many bytes.
  bool operator()(std::int64_t bytes) noexcept {
    if (keep_going_.is_stopped()) return false;
    done_ += bytes;
    if (done_ < kBytesBetween) return true;
    done_ = 0;
    return keep_going_();
  }

 private:
  // A thread rotates 8 GB a second or more (docs/performance.md): 2 milliseconds at most.
  static constexpr std::int64_t kBytesBetween = 16LL << 20;

  KeepGoing& keep_going_;
  std::int64_t done_ = 0;
};

}  // namespace posenc::cpu
