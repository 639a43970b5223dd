// What calls that rotate tensors have in common: tables, one or one a sequence, and tensors that are read and written.
// Used by rotate, rotate_, rerotate (bind_rotate.cpp) and rotate_into_cache (bind_cache.cpp). These objects stay in the
// binding's frame until the call has returned, so that what the library looks at stays alive while the GIL is released.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <vector>

#include "arrays/arrays.h"
#include "held_table.h"
#include "posenc/rotary_table.h"

namespace posenc::python {

// A RotaryTable, or a list of them, one for each sequence. They live as long as the argument does.
class Tables {
 public:
  // TypeError for anything else, also within the list. Whether there is one for each sequence, the library checks.
  Tables(nb::handle tables, const Place& place) {
    one_ = rotary_table(tables);
    if (one_ != nullptr) return;
    if (!nb::isinstance<nb::sequence>(tables)) refuse_type(place, "be a RotaryTable, or a list of them", tables);
    for (const nb::handle table : nb::iter(tables)) {
      many_.push_back(rotary_table(table));
      if (many_.back() == nullptr) refuse_type(place, "be a RotaryTable, or a list of them", table);
      kept_.push_back(nb::borrow(table));
    }
  }
  // RotateArgs::table; null where a list was given, of whatever length.
  const RotaryTable* one() const { return one_; }
  // RotateArgs::tables; empty where a single table was given.
  std::span<const RotaryTable* const> many() const { return many_; }

 private:
  const RotaryTable* one_ = nullptr;
  std::vector<const RotaryTable*> many_;
  // A sequence may make its elements when it is asked for them, and nobody else refers to them then.
  std::vector<nb::object> kept_;
};

// x rotated into out: a new array where out is None, x itself where out is x.
struct Rotated {
  nb::object result;  // what the caller gets
  // Keep the memory of x and of out. `to` is empty where the output is new: `result` owns it then.
  ConstArray from;
  Array to;
  TensorView out{};
  ConstTensorView x{};  // empty: in place

  // given: q or k, or None: nothing to rotate, and `result` is None. into: the `out` for it, or None. The places are
  // those of q or k and of out, for errors. TypeError for an out without anything to rotate.
  Rotated(nb::handle given, nb::handle into, const Place& place, const Place& out_place);
};

}  // namespace posenc::python
