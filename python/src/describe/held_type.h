// A struct of views as a Python class: what was given for its members can be read again, and is kept.
#pragma once

#include <nanobind/nanobind.h>

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "convert.h"
#include "describe/described.h"
#include "kept.h"
#include "signature.h"

namespace posenc::python {

// What a member takes.
inline std::string taken(Type<ConstTensorView>) { return "ArrayLike | None"; }
inline std::string taken(Type<double>) { return Convert<double>::taken(); }
inline std::string taken(Type<std::optional<double>>) { return Convert<std::optional<double>>::taken(); }
inline std::string taken(Type<std::vector<Linear>>) { return "collections.abc.Iterable[Linear]"; }
template <IsDescribed T>
std::string taken(Type<T>) {
  return description(Type<T>{}).name;
}

template <typename T>
void bind_held(nb::module_& m) {
  const auto described = description(Type<T>{});
  nb::class_<Held<T>> bound(m, described.name, nb::is_final(), described.doc);
  std::string arguments;
  for_each_member(described, [&]<typename M>(const Member<T, M>& member) {
    arguments.append(arguments.empty() ? ", *, " : ", ").append(member.name);
    arguments.append(": ").append(taken(Type<M>{})).append(" = ...");
    bound.def_prop_ro(
        member.name,
        [name = member.name](const Held<T>& self) -> nb::object {
          return self.given.contains(name) ? nb::object(self.given[name]) : nb::none();
        },
        member.doc);
  });
  bound.def(
      "__init__",
      [name = described.name](Held<T>* self, const nb::kwargs& keywords) {
        new (self) Held<T>;
        nb::dict rest;
        rest.update(keywords);
        self->given.update(keywords);
        self->kept.take_members(self->value, rest, name);
        for (const auto [key, given] : rest) {
          const std::string message = std::string(name) + "() has no argument '" + nb::cast<std::string>(key) + "'";
          self->~Held<T>();
          throw nb::type_error(message.c_str());
        }
      },
      nb::sig(with_array_types("def __init__(self" + arguments + ") -> None").c_str()));
}

}  // namespace posenc::python
