// FileError, which the library returns, as posenc.FileError, which Python raises.
// The library returns a Result<T> for what is wrong with a file and throws nothing. Python has no such type, so
// bindings that read or write files hand theirs to value_or_raise. posenc.FileError is a class of Python
// (posenc/_errors.py) and a ValueError, so that one `except ValueError` catches all that posenc refuses.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "posenc/error.h"
#include "refuse.h"

namespace posenc::python {

// Throws nb::python_error with a posenc.FileError in it, which nanobind hands to the interpreter. Needs the GIL.
[[noreturn]] void raise(const FileError& error);

// The value, moved out of `result`, or raise(). The call that made the Result released the GIL and has taken it again:
// such calls are functions of their own (read_path in bind_read_plan.cpp), with the release in their scope.
template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

}  // namespace posenc::python
