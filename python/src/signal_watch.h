// Ctrl-C during a call of the library, whose callbacks are asked now and then whether to go on.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace posenc::python {

namespace nb = nanobind;

// Whether to go on: Ctrl-C is seen by the thread that called, as Python's signals are its main thread's. It may be
// asked as often as one likes: another thread of Python may hold the GIL for milliseconds before it is had.
class SignalWatch {
 public:
  bool operator()() {
    if (std::this_thread::get_id() != caller_) return true;
    const Clock::time_point now = Clock::now();
    if (now < next_) return true;
    next_ = now + std::chrono::milliseconds(1);
    const nb::gil_scoped_acquire held;
    return PyErr_CheckSignals() == 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_{};
};

// Runs a call of the library that a SignalWatch may end, without the GIL; raises KeyboardInterrupt where it did.
template <typename Call>
void finish(Call call) {
  const auto is_done = [&] {
    const nb::gil_scoped_release released;
    return call();
  };
  if (!is_done()) throw nb::python_error();
}

}  // namespace posenc::python
