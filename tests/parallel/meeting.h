// Parts that wait for each other, which proves that each has a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace posenc::test {

class Meeting {
 public:
  explicit Meeting(int expected) : missing_(expected) {}

  // True when all who are expected have come; false after ten seconds without them.
  bool wait() noexcept {
    missing_.fetch_sub(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (missing_.load() > 0) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  std::atomic<int> missing_;
};

}  // namespace posenc::test
