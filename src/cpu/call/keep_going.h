// Whether a call of several threads is still wanted: its caller is asked by one thread at a time.
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
  // A thread turns 8 GB a second or more (docs/performance.md): 2 milliseconds at most.
  static constexpr std::int64_t kBytesBetween = 16LL << 20;

  KeepGoing& keep_going_;
  std::int64_t done_ = 0;
};

}  // namespace posenc::cpu
