// Ctrl-C during a call of the library, whose callbacks are asked now and then whether to go on.
// Python runs signal handlers between bytecodes, on the main thread: none runs while that thread is inside a C++ call.
// So the callback of the library, keep_going (AttendArgs, RotateArgs, CacheArgs, reference::AttendArgs ...), runs them.
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
  // Called without the GIL; takes it for the look. Not thread-safe, nor need it be: the library calls keep_going on one
  // thread at a time.
  bool operator()() {
    if (std::this_thread::get_id() != caller_) return true;
    const Clock::time_point now = Clock::now();
    if (now < next_) return true;
    next_ = now + std::chrono::milliseconds(1);
    const nb::gil_scoped_acquire held;
    // Runs the handler. Where that raised (KeyboardInterrupt), the exception stays set in this thread until finish().
    return PyErr_CheckSignals() == 0;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_{};
};

// Runs a call of the library that a SignalWatch may end, without the GIL; raises KeyboardInterrupt where it did.
// `call` returns what the library did: false only where the watch returned false, so an exception is set then.
template <typename Call>
void finish(Call call) {
  const auto is_done = [&] {
    const nb::gil_scoped_release released;
    return call();
  };
  if (!is_done()) throw nb::python_error();
}

}  // namespace posenc::python
