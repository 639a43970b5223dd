// How an aggregate of the library is told to Python: its name, its words, and its members, each stated once. From this
// come the keyword arguments of its constructor, its properties, their types, repr, hash and pickling (value_type.h).
//
// The compiler holds a description against the aggregate: one that lacks a member, or has them in another order, does
// not compile.
// Python's names are the struct's, but where Python has the word for itself (from_, property_). Docs are docstrings: ""
// is none. One header describe_X.h for each public header; the bind_X.cpp of its topic makes the classes.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace posenc::python {

// Carries T to the overload of description() for it. That is found by argument-dependent lookup, so its header must be
// included before the first template that asks for it.
template <typename T>
struct Type {};

// One member of T, of type M. name: its keyword argument and property in Python. doc: the property's docstring.
template <typename T, typename M>
struct Member {
  const char* name;
  M T::*pointer;
  const char* doc;
};

template <typename T, typename M>
constexpr Member<T, M> member(const char* name, M T::*pointer, const char* doc = "") {
  return {name, pointer, doc};
}

// name: the class in Python. members: in the order of the struct, which is that of its arguments, repr and hash.
template <typename... Members>
struct Described {
  const char* name;
  const char* doc;
  std::tuple<Members...> members;
};

// An initialiser of exactly one type.
template <typename M>
struct Exactly {
  template <typename T>
  requires std::is_same_v<T, M>
  operator T() const;  // NOLINT: it stands for a value
};

// {} initialises any member that is left, and there is none: an aggregate of more members would take it.
template <typename T, typename... Ms>
concept IsWhole = requires {
  T{Exactly<Ms>{}...};
}
&&!requires { T{Exactly<Ms>{}..., {}}; };

// Two neighbours of one type could change places unnoticed, which does no harm: members are reached by their pointers.
template <typename T, typename... Ms>
constexpr Described<Member<T, Ms>...> described_as(const char* name, const char* doc, const Member<T, Ms>&... members) {
  static_assert(IsWhole<T, Ms...>, "state every member, in the order of the struct");
  return {name, doc, {members...}};
}

// Overloaded for every aggregate that Python sees.
template <typename T>
concept IsDescribed = requires {
  description(Type<T>{});
};

// Calls function(const Member<T, M>&) for each member, in order; M differs, so it is a template.
template <typename Function, typename... Members>
void for_each_member(const Described<Members...>& described, Function&& function) {
  std::apply([&](const auto&... members) { (function(members), ...); }, described.members);
}

}  // namespace posenc::python
