// How a refused object is shown: by its repr where that fits into a line, else by its type.
#include "refuse.h"

#include "posenc/error.h"

namespace posenc::python {
namespace {

constexpr std::size_t kLongestShown = 80;  // characters of a repr, which may be that of a whole array

// An object whose repr raises is shown by its type, too: the error to report is that of the argument.
std::string shown(nb::handle value) {
  const nb::object repr = nb::steal(PyObject_Repr(value.ptr()));
  if (!repr.is_valid()) {
    PyErr_Clear();
    return nb::type_name(value.type()).c_str();
  }
  std::string text = nb::cast<std::string>(repr);
  if (text.size() > kLongestShown) text = std::string("a ") + nb::type_name(value.type()).c_str();
  return text;
}

}  // namespace

std::string text_of(nb::handle value) {
  const nb::object text = nb::steal(PyObject_Str(value.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

void refuse(const Place& place, const std::string& must, const std::string& is) {
  throw Error(place.where, {std::string(place.field), must, is});
}

void refuse_gradient(nb::handle tensor, const Place& place) {
  const nb::object answer = nb::steal(PyObject_GetAttrString(tensor.ptr(), "requires_grad"));
  if (!answer.is_valid()) PyErr_Clear();
  if (answer.ptr() == Py_True) {
    refuse(place, "be detached from its gradient, by detach()", "a tensor that requires one");
  }
}

void refuse_value(const Place& place, const std::string& must, nb::handle is) { refuse(place, must, shown(is)); }

void refuse_type(const Place& place, const std::string& must, nb::handle is) {
  throw nb::type_error(Error(place.where, {std::string(place.field), must, shown(is)}).what());
}

}  // namespace posenc::python
