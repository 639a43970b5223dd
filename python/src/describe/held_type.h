// A struct of views as a Python class: what was given for its members can be read again, and is kept.
// The properties are the very objects that were given (an array stays an array, a Linear a Linear), not new views of
// their memory, so `t5.table is t` holds.
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
// In the types of posenc/_arrays.py, without their module: with_array_types puts it before them (signature.h).
inline std::string taken(Type<ConstTensorView>) { return "ArrayLike | None"; }
inline std::string taken(Type<double>) { return Convert<double>::taken(); }
inline std::string taken(Type<std::optional<double>>) { return Convert<std::optional<double>>::taken(); }
inline std::string taken(Type<std::vector<Linear>>) { return "collections.abc.Iterable[Linear]"; }
template <IsDescribed T>
std::string taken(Type<T>) {
  return description(Type<T>{}).name;
}

// A Held<T> of the members that `keywords` has, in the memory of a new object. TypeError for a name that T does not
// have.
template <typename T>
void construct_held(Held<T>* self, const nb::dict& keywords, const char* name) {
  new (self) Held<T>;
  try {
    // A copy: what `given` has is read again by properties, what `rest` has left is nobody's.
    nb::dict rest;
    rest.update(keywords);
    self->given.update(keywords);
    self->kept.take_members(self->value, rest, name);
    for (const auto [key, given] : rest) {
      const std::string message = std::string(name) + "() has no argument '" + nb::cast<std::string>(key) + "'";
      throw nb::type_error(message.c_str());
    }
  } catch (...) {
    self->~Held<T>();  // nanobind ends no object whose constructor has thrown
    throw;
  }
}

// Binds Held<T> under the struct's own name: attend takes a posenc.T5Weights and knows it as Held<T5Weights>. Members
// are keyword arguments, all of which may be omitted; whether the layer needs one is for the library to say.
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
      [name = described.name](Held<T>* self, const nb::kwargs& keywords) { construct_held(self, keywords, name); },
      nb::sig(with_array_types("def __init__(self" + arguments + ") -> None").c_str()));
  // A pickle has the arrays as their libraries pickle them, and so has a copy the arrays' own copies.
  bound.def(
      "__getstate__",
      [](const Held<T>& self) {
        nb::dict state;
        state.update(self.given);
        return state;
      },
      nb::sig("def __getstate__(self) -> dict[str, typing.Any]"));
  bound.def(
      "__setstate__",
      [name = described.name](Held<T>* self, const nb::dict& state) { construct_held(self, state, name); },
      nb::sig("def __setstate__(self, state: dict[str, typing.Any], /) -> None"));
}

}  // namespace posenc::python
