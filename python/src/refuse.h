// What Python callers are told when an argument is wrong: the words of posenc::Error, with the argument as they gave
// it.
// An argument of the wrong type is a TypeError, any other fault a ValueError: posenc::Error is a std::invalid_argument,
// which nanobind raises as ValueError. Arguments that need a look are taken as nb::handle and checked with these
// functions, since nanobind's own message is a list of all signatures and does not say which argument is wrong.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>  // wherever nanobind is: a file without it would make another caster of the same name

#include <string>
#include <string_view>

namespace posenc::python {

namespace nb = nanobind;

// An argument by the name of its function or class and its own.
// Views of literals, or of texts that live as long as the call (the names of tables in a dict).
struct Place {
  std::string_view where;
  std::string_view field;
};

// str(value)
// For messages that show a shape or a dtype. An exception of its __str__ passes through.
std::string text_of(nb::handle value);

// ValueError: "[where] field must MUST but is IS".
[[noreturn]] void refuse(const Place& place, const std::string& must, const std::string& is);
// ValueError for a tensor that requires a gradient: results have none, and it would be lost.
void refuse_gradient(nb::handle tensor, const Place& place);
// ValueError for an object, shown by its repr. TypeError where it is not of a type that could do.
[[noreturn]] void refuse_value(const Place& place, const std::string& must, nb::handle is);
[[noreturn]] void refuse_type(const Place& place, const std::string& must, nb::handle is);

}  // namespace posenc::python
