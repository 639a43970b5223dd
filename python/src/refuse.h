// What Python callers are told when an argument is wrong: the words of posenc::Error, with the argument as they gave
// it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>  // wherever nanobind is: a file without it would make another caster of the same name

#include <string>
#include <string_view>

namespace posenc::python {

namespace nb = nanobind;

// An argument by the name of its function or class and its own.
struct Place {
  std::string_view where;
  std::string_view field;
};

// str(value)
std::string text_of(nb::handle value);

// ValueError: "[where] field must MUST but is IS".
[[noreturn]] void refuse(const Place& place, const std::string& must, const std::string& is);
// The same for an object, shown by its repr. TypeError where it is not of a type that could do.
[[noreturn]] void refuse_value(const Place& place, const std::string& must, nb::handle is);
[[noreturn]] void refuse_type(const Place& place, const std::string& must, nb::handle is);

}  // namespace posenc::python
