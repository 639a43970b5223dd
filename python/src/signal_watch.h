// Ctrl-C during a call of the library, whose callbacks are asked now and then whether to go on.
#pragma once

#include <nanobind/nanobind.h>

#include <thread>

namespace posenc::python {

namespace nb = nanobind;

// Whether to go on: Ctrl-C is seen by the thread that called, as Python's signals are its main thread's.
class SignalWatch {
 public:
  bool operator()() const {
    if (std::this_thread::get_id() != caller_) return true;
    const nb::gil_scoped_acquire held;
    return PyErr_CheckSignals() == 0;
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
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
