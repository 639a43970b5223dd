// Where one tensor is rotated to: a new array of the caller's library, an array of the caller's, or itself. RotateArgs
// says "in place" by an empty q_from or k_from, which is why x stays empty then.
#include "rotate_arguments.h"

namespace posenc::python {

Rotated::Rotated(nb::handle given, nb::handle into, const Place& place, const Place& out_place) {
  if (given.is_none()) {
    if (!into.is_none()) refuse_type(out_place, "be None, as there is nothing to rotate", into);
    result = nb::none();
    return;
  }
  // The same object: one exchange, for writing.
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
  // Two objects that show the same elements: in place as well. The library refuses any other overlap.
  if (ConstTensorView(out) == x) x = {};
}

}  // namespace posenc::python
