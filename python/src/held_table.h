// A RotaryTable as Python's RotaryTable: the table, and by which call it was made.
// The call is what a pickle has and what a graph of torch names (posenc/_tables.py): a table holds rows, not the Rope
// that they are of, and one on demand holds none.
#pragma once

#include <nanobind/nanobind.h>

#include "posenc/rotary_table.h"

namespace posenc::python {

namespace nb = nanobind;

struct HeldTable {
  RotaryTable table;
  // (name of the function, its arguments by name): values, words and numbers. Null for a table of given values.
  nb::object made;
};

// The library's table in a Python object, valid as long as that lives; null for an object of another class.
inline const RotaryTable* rotary_table(nb::handle table) {
  return nb::isinstance<HeldTable>(table) ? &nb::inst_ptr<HeldTable>(table)->table : nullptr;
}

}  // namespace posenc::python
