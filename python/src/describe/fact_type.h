// A described aggregate that only the library makes, as a Python class: what a call found. Its members are read, and
// its repr shows them all.
// Unlike a value (value_type.h) it has no constructor, ==, hash or pickling: nobody needs to make one, and the structs
// of results have no operator==.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "convert.h"
#include "describe/described.h"
#include "describe/value_type.h"

namespace posenc::python {

// "<AngleError(largest=..., position=..., pair=...)>": in angle brackets, since it cannot be pasted back.
template <typename T>
std::string shown_fact(nb::handle fact) {
  const auto described = description(Type<T>{});
  std::string text;
  for_each_member(described, [&]<typename M>(const Member<T, M>& member) {
    const nb::object value = nb::repr(nb::getattr(fact, member.name));
    text.append(text.empty() ? "" : ", ").append(member.name).append("=").append(nb::cast<std::string>(value));
  });
  return std::string("<") + described.name + "(" + text + ")>";
}

template <typename T>
nb::class_<T> bind_fact(nb::module_& module) {
  const auto described = description(Type<T>{});
  nb::class_<T> bound(module, described.name, nb::is_final(), described.doc);
  bind_members(bound);
  bound.def("__repr__", [](nb::handle self) { return shown_fact<T>(self); });
  return bound;
}

}  // namespace posenc::python
