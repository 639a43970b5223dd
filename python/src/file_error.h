// FileError, which the library returns, as posenc.FileError, which Python raises.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "posenc/error.h"
#include "refuse.h"

namespace posenc::python {

[[noreturn]] void raise(const FileError& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

}  // namespace posenc::python
