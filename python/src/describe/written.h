// Arrays that a call writes.
// For attend, attend_linear and merge: `out` and `lse` are the caller's or made for the call.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <utility>

#include "arrays/arrays.h"

namespace posenc::python {

// The caller's array, or a new one of the library of `like`.
struct Written {
  nb::object object;
  Array given;
  TensorView view{};

  // out: an array, or None. dtype, shape: of a new one; the caller's own is checked by the library. `object` is
  // returned to the caller, `given` keeps the memory of theirs. ValueError where it is read-only.
  Written(nb::handle out, nb::handle like, DType dtype, std::span<const std::int64_t> shape, const Place& place) {
    if (out.is_none()) {
      NewArray made = new_array(like, dtype, shape);
      object = std::move(made.object);
      view = made.view;
    } else {
      given = Array(out, place);
      object = nb::borrow(out);
      view = given.view();
    }
  }
};

}  // namespace posenc::python
