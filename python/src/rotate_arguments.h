// What calls that rotate tensors have in common: tables, one or one a sequence, and tensors that are read and written.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <vector>

#include "arrays/arrays.h"
#include "posenc/rotary_table.h"

namespace posenc::python {

// A RotaryTable, or a list of them, one for each sequence. They live as long as the argument does.
class Tables {
 public:
  Tables(nb::handle tables, const Place& place) {
    if (nb::isinstance<RotaryTable>(tables)) {
      one_ = nb::inst_ptr<RotaryTable>(tables);
      return;
    }
    if (!nb::isinstance<nb::sequence>(tables)) refuse_type(place, "be a RotaryTable, or a list of them", tables);
    for (const nb::handle table : nb::iter(tables)) {
      if (!nb::isinstance<RotaryTable>(table)) refuse_type(place, "be a RotaryTable, or a list of them", table);
      many_.push_back(nb::inst_ptr<RotaryTable>(table));
      kept_.push_back(nb::borrow(table));
    }
  }
  const RotaryTable* one() const { return one_; }
  std::span<const RotaryTable* const> many() const { return many_; }

 private:
  const RotaryTable* one_ = nullptr;
  std::vector<const RotaryTable*> many_;
  std::vector<nb::object> kept_;
};

// x rotated into out: a new array where out is None, x itself where out is x.
struct Rotated {
  nb::object result;  // what the caller gets
  ConstArray from;
  Array to;
  TensorView out{};
  ConstTensorView x{};  // empty: in place

  Rotated(nb::handle given, nb::handle into, const Place& place, const Place& out_place);
};

}  // namespace posenc::python
