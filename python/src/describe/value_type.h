// A described aggregate as a Python class: a frozen value with keyword arguments, ==, hash, a repr that can be pasted
// back, replace() and pickling.
// Frozen: properties have no setter, and lists come out as tuples, so a value can be a key of a dict. A member that is
// an aggregate itself comes out as a view into its owner, which it keeps alive; nothing is copied until somebody asks
// for a changed one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>

#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "convert.h"
#include "describe/described.h"
#include "posenc/plan.h"

namespace posenc::python {

// What the defaults are read from. Members that have none must be given: those below.
template <typename T>
T prototype() {
  return T{};
}
template <>
inline Rope prototype<Rope>() {
  return {.pairing = Pairing::half};
}
template <>
inline RotaryLayout prototype<RotaryLayout>() {
  return {.pairing = Pairing::half};
}
template <>
inline XPos prototype<XPos>() {
  return {.rope = prototype<Rope>()};
}
template <>
inline Rotate prototype<Rotate>() {
  return {.scheme = prototype<Rope>()};
}

// Members that a constructor's caller must name: Required<Pairing>, and what contains one.
template <typename M>
struct IsRequired : std::false_type {};
template <typename T>
struct IsRequired<Required<T>> : std::true_type {};
template <>
struct IsRequired<Rope> : std::true_type {};
template <>
struct IsRequired<decltype(Rotate::scheme)> : std::true_type {};

// `value` with the members that `keywords` names. `is_new`: those that are required must be among them.
// TypeError for a keyword that is missing or that T does not have; a member's own errors name T and the member.
template <typename T>
T with_keywords(T value, const nb::kwargs& keywords, bool is_new) {
  const auto described = description(Type<T>{});
  std::size_t taken = 0;
  for_each_member(described, [&]<typename M>(const Member<T, M>& member) {
    if (!keywords.contains(member.name)) {
      if (!is_new || !IsRequired<M>::value) return;
      throw nb::type_error((described.name + std::string("() misses the argument '") + member.name + "'").c_str());
    }
    const nb::object given = keywords[member.name];
    value.*member.pointer = Convert<M>::from_python(given, {described.name, member.name});
    ++taken;
  });
  if (taken == keywords.size()) return value;
  for (const auto [key, given] : keywords) {
    bool is_known = false;
    const std::string word = nb::cast<std::string>(key);
    for_each_member(described, [&](const auto& member) { is_known = is_known || word == member.name; });
    if (!is_known) throw nb::type_error((described.name + std::string("() has no argument '") + word + "'").c_str());
  }
  return value;
}

// {name: value}, in the order of the struct. owner: the Python object that `value` lies in.
template <typename T>
nb::dict members_of(const T& value, nb::handle owner) {
  nb::dict members;
  for_each_member(description(Type<T>{}), [&]<typename M>(const Member<T, M>& member) {
    members[member.name] = Convert<M>::to_python(value.*member.pointer, owner);
  });
  return members;
}

// "Window(past=4095)": members that have their default are omitted.
// The default of a member is that of the C++ struct, in prototype<T>().
template <typename T>
std::string repr_of(const T& value, nb::handle owner) {
  const auto described = description(Type<T>{});
  const T usual = prototype<T>();
  std::string text;
  for_each_member(described, [&]<typename M>(const Member<T, M>& member) {
    if (!IsRequired<M>::value && value.*member.pointer == usual.*member.pointer) return;
    const nb::object shown = nb::repr(Convert<M>::to_python(value.*member.pointer, owner));
    text.append(text.empty() ? "" : ", ").append(member.name).append("=").append(nb::cast<std::string>(shown));
  });
  return described.name + ("(" + text + ")");
}

// What stubs and help() show of __init__ and of replace().
// function: "__init__" or "replace", whose arguments all have "..." for a default: what is omitted stays as it is.
template <typename T>
std::string signature(const std::string& function) {
  const bool is_new = function == "__init__";
  const auto described = description(Type<T>{});
  const nb::object usual = nb::cast(prototype<T>());
  std::string arguments;
  for_each_member(described, [&]<typename M>(const Member<T, M>& member) {
    arguments.append(arguments.empty() ? ", *, " : ", ").append(member.name).append(": ").append(Convert<M>::taken());
    if (is_new && IsRequired<M>::value) return;
    const nb::object value = usual.attr(member.name);
    const std::string shown = nb::cast<std::string>(nb::repr(value));
    arguments.append(" = ").append(!is_new ? "..." : nb::isinstance<nb::str>(value) ? in_signature(shown) : shown);
  });
  return "def " + function + "(self" + arguments + ") -> " + (is_new ? "None" : described.name);
}

// A property for each member, read-only.
template <typename T>
void bind_members(nb::class_<T>& bound) {
  for_each_member(description(Type<T>{}), [&]<typename M>(const Member<T, M>& member) {
    const std::string signature = std::string("def ") + member.name + "(self) -> " + Convert<M>::type();
    bound.def_prop_ro(
        member.name,
        [pointer = member.pointer](nb::handle self) {
          return Convert<M>::to_python(nb::inst_ptr<T>(self)->*pointer, self);
        },
        nb::for_getter(nb::sig(signature.c_str())), member.doc);
  });
}

// The state is the dict of members, so that pickles of one version can be read by the next as long as names stay.
template <typename T>
void bind_pickling(nb::class_<T>& bound) {
  bound.def(
      "__getstate__", [](nb::handle self) { return members_of(*nb::inst_ptr<T>(self), self); },
      nb::sig("def __getstate__(self) -> dict[str, typing.Any]"));
  bound.def(
      "__setstate__",
      [](T* self, const nb::dict& state) {
        const nb::kwargs members = nb::borrow<nb::kwargs>(state);
        // nanobind has allocated the object, and not constructed it.
        new (self) T(with_keywords(prototype<T>(), members, true));
      },
      nb::sig("def __setstate__(self, state: dict[str, typing.Any], /) -> None"));
}

// The class of T, with all of this. It may be given more (bind_rope.cpp adds Rope.pairs).
template <typename T>
nb::class_<T> bind_value(nb::module_& module) {
  const auto described = description(Type<T>{});
  nb::class_<T> bound(module, described.name, nb::is_final(), described.doc);
  bind_members(bound);
  bind_pickling(bound);
  bound.def(
      "__init__",
      [](T* self, const nb::kwargs& keywords) { new (self) T(with_keywords(prototype<T>(), keywords, true)); },
      nb::sig(signature<T>("__init__").c_str()));
  // The second one is copy.replace's, of Python 3.13.
  for (const char* name : {"replace", "__replace__"}) {
    bound.def(
        name, [](const T& self, const nb::kwargs& keywords) { return with_keywords(self, keywords, false); },
        nb::sig(signature<T>(name).c_str()), "The same with other members.");
  }
  bound.def("__repr__", [](nb::handle self) { return repr_of(*nb::inst_ptr<T>(self), self); });
  // Of the class, too: NtkScaling(alpha=2.0) and LinearScaling(factor=2.0) have equal members.
  bound.def("__hash__", [](nb::handle self) {
    return nb::hash(nb::make_tuple(self.type(), nb::tuple(members_of(*nb::inst_ptr<T>(self), self).values())));
  });
  bound.def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  return bound;
}

// Classes for all alternatives of a variant.
template <typename V>
struct Alternatives;
template <typename... Ts>
struct Alternatives<std::variant<Ts...>> {
  static void bind(nb::module_& module) { (bind_one<Ts>(module), ...); }

 private:
  template <typename T>
  static void bind_one(nb::module_& module) {
    if constexpr (!std::is_same_v<T, std::monostate>) bind_value<T>(module);
  }
};

}  // namespace posenc::python
