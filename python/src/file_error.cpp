// posenc.FileError from the C++ struct: every member becomes the attribute of the same name.
#include "file_error.h"

#include <string>

namespace posenc::python {

void raise(const FileError& error) {
  using namespace nb::literals;
  const nb::object type = nb::module_::import_("posenc._errors").attr("FileError");
  // -1 is "not known" in C++; a caller in Python expects None.
  const auto known = [](std::int64_t number) -> nb::object {
    return number < 0 ? nb::none() : nb::object(nb::int_(number));
  };
  const std::string kind(name(error.kind));
  // Bytes of a file may stand in its texts.
  const auto text = [](const std::string& bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
  };
  const nb::object raised =
      type(text(error.message()), "kind"_a = kind, "file"_a = text(error.file), "offset"_a = known(error.offset),
           "line"_a = known(error.line), "column"_a = known(error.column), "path"_a = text(error.path),
           "expected"_a = text(error.expected), "got"_a = text(error.got), "detail"_a = text(error.detail));
  PyErr_SetObject(type.ptr(), raised.ptr());
  throw nb::python_error();
}

}  // namespace posenc::python
