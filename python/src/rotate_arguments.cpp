#include "rotate_arguments.h"

namespace posenc::python {

Rotated::Rotated(nb::handle given, nb::handle into, const Place& place, const Place& out_place) {
  if (given.is_none()) {
    if (!into.is_none()) refuse_type(out_place, "be None, as there is nothing to rotate", into);
    result = nb::none();
    return;
  }
  if (given.is(into)) {
    to = Array(given, place);
    out = to.view();
    result = nb::borrow(given);
    return;
  }
  from = ConstArray(given, place);
  x = from.view();
  if (into.is_none()) {
    NewArray made = new_array_like(given, x);
    result = std::move(made.object);
    out = made.view;
    return;
  }
  to = Array(into, out_place);
  out = to.view();
  result = nb::borrow(into);
  if (ConstTensorView(out) == x) x = {};
}

}  // namespace posenc::python
