// Members of aggregates to Python and back: numbers, words, lists, what may be absent, one of several, and aggregates
// themselves, by what their description (described.h) says.
//
//   C++                    Python
//   an enumerator          its word: "half"
//   std::optional          None, or the value
//   std::vector            a tuple; any iterable is taken
//   std::variant           one of its alternatives; std::monostate is None
//   a described aggregate  its class, a view into its owner
//
// Convert<T> has four functions:
//   type()        the type in stubs where a value comes out
//   taken()       the type in stubs where one goes in; wider, since more is taken than is given
//   to_python     value and owner in, a new object out. owner: the Python object in which the value lies, or none
//   from_python   object and place in, a C++ value out; TypeError or ValueError that names the place
//
// nanobind's own casters know no place, and enumerators are objects to them, not words.
#pragma once

#include <nanobind/nanobind.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "describe/described.h"
#include "describe/words.h"
#include "posenc/rope.h"
#include "refuse.h"

namespace posenc::python {

template <typename T>
concept IsWord = std::is_enum_v<T>;

template <typename T>
struct Convert;

// True and False themselves: neither 1 nor NumPy's bool.
template <>
struct Convert<bool> {
  static std::string type() { return "bool"; }
  static std::string taken() { return type(); }
  static nb::object to_python(bool value, nb::handle) { return nb::bool_(value); }
  static bool from_python(nb::handle h, const Place& place) {
    if (!PyBool_Check(h.ptr())) refuse_type(place, "be True or False", h);
    return h.ptr() == Py_True;
  }
};

// Whatever has __index__ (NumPy's integers too), bool excepted. ValueError for what does not fit T.
template <std::signed_integral T>
struct Convert<T> {
  static std::string type() { return "int"; }
  static std::string taken() { return "typing.SupportsIndex"; }
  static nb::object to_python(T value, nb::handle) { return nb::int_(value); }
  static T from_python(nb::handle h, const Place& place) {
    if (!PyIndex_Check(h.ptr()) || PyBool_Check(h.ptr())) refuse_type(place, "be a whole number", h);
    const nb::object number = nb::steal(PyNumber_Index(h.ptr()));
    if (!number.is_valid()) throw nb::python_error();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0 || !std::in_range<T>(value)) refuse_value(place, "fit " + bits() + " bits", h);
    return static_cast<T>(value);
  }

 private:
  static std::string bits() { return std::to_string(std::numeric_limits<T>::digits + 1); }
};

// Whatever has __float__ or __index__, bool excepted. What these raise themselves passes through. ValueError for a
// number beyond float64, and for a tensor that requires a gradient (FireWeights.c), which would be lost.
template <>
struct Convert<double> {
  static std::string type() { return "float"; }
  static std::string taken() { return type(); }
  static nb::object to_python(double value, nb::handle) { return nb::float_(value); }
  static double from_python(nb::handle h, const Place& place) {
    // PyFloat_AsDouble answers -1.0 for an error, too: only then is there anything to ask.
    if (!PyFloat_Check(h.ptr()) && !PyLong_Check(h.ptr())) refuse_gradient(h, place);
    const double value = PyBool_Check(h.ptr()) ? -1.0 : PyFloat_AsDouble(h.ptr());
    if (value != -1.0) return value;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      refuse(place, "be within float64's range", "beyond it");
    }
    if (PyBool_Check(h.ptr()) || PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      refuse_type(place, "be a number", h);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    return value;
  }
};

// A str alone: no bytes, no path.
template <>
struct Convert<std::string> {
  static std::string type() { return "str"; }
  static std::string taken() { return type(); }
  static nb::object to_python(const std::string& value, nb::handle) { return nb::cast(value); }
  static std::string from_python(nb::handle h, const Place& place) {
    if (!nb::isinstance<nb::str>(h)) refuse_type(place, "be a text", h);
    return nb::cast<std::string>(h);
  }
};

// Of the library, which keeps it: never taken.
template <>
struct Convert<std::string_view> {
  static std::string type() { return "str"; }
  static nb::object to_python(std::string_view value, nb::handle) { return nb::str(value.data(), value.size()); }
};

// TypeError for what is no text, ValueError with all words for one that is none of them.
template <IsWord T>
struct Convert<T> {
  static std::string type() { return "typing.Literal[" + in_signature(quoted_words<T>()) + "]"; }
  static std::string taken() { return type(); }
  static nb::object to_python(T value, nb::handle) {
    const std::string_view word = name(value);
    return nb::str(word.data(), word.size());
  }
  static T from_python(nb::handle h, const Place& place) {
    if (!nb::isinstance<nb::str>(h)) refuse_type(place, "be one of " + quoted_words<T>(), h);
    const std::string word = nb::cast<std::string>(h);
    for (std::size_t i = 0; i < Last<T>::kCount; ++i) {
      if (name(static_cast<T>(i)) == word) return static_cast<T>(i);
    }
    refuse_value(place, "be one of " + quoted_words<T>(), h);
  }
};

// As T. That it must be given is for whoever makes the aggregate to check (value_type.h).
template <typename T>
struct Convert<Required<T>> : Convert<T> {
  static nb::object to_python(const Required<T>& value, nb::handle owner) {
    return Convert<T>::to_python(value.get(), owner);
  }
};

// None is std::nullopt.
template <typename T>
struct Convert<std::optional<T>> {
  static std::string type() { return Convert<T>::type() + " | None"; }
  static std::string taken() { return Convert<T>::taken() + " | None"; }
  static nb::object to_python(const std::optional<T>& value, nb::handle owner) {
    return value ? Convert<T>::to_python(*value, owner) : nb::none();
  }
  static std::optional<T> from_python(nb::handle h, const Place& place) {
    if (h.is_none()) return std::nullopt;
    return Convert<T>::from_python(h, place);
  }
};

// A tuple comes out, so that values stay immutable and can be hashed. A str is refused although it is iterable: nobody
// means a list of letters.
template <typename T>
struct Convert<std::vector<T>> {
  static std::string type() { return "tuple[" + Convert<T>::type() + ", ...]"; }
  static std::string taken() { return "collections.abc.Iterable[" + Convert<T>::taken() + "]"; }
  static nb::object to_python(const std::vector<T>& values, nb::handle owner) {
    nb::list list;
    for (const T& value : values) list.append(Convert<T>::to_python(value, owner));
    return nb::tuple(list);
  }
  static std::vector<T> from_python(nb::handle h, const Place& place) {
    if (nb::isinstance<nb::str>(h) || !nb::isinstance<nb::iterable>(h)) refuse_type(place, "be a list", h);
    std::vector<T> values;
    for (const nb::handle element : nb::iter(h)) values.push_back(Convert<T>::from_python(element, place));
    return values;
  }
};

template <IsDescribed T>
struct Convert<T> {
  static std::string type() { return description(Type<T>{}).name; }
  static std::string taken() { return type(); }
  // A view that keeps its owner; without one, a copy.
  static nb::object to_python(const T& value, nb::handle owner) {
    if (!owner.is_valid()) return nb::cast(value, nb::rv_policy::copy);
    return nb::inst_reference(nb::type<T>(), const_cast<T*>(&value), owner);  // no class of these has a setter
  }
  // A reference into the Python object, valid as long as that lives: callers copy it.
  static const T& from_python(nb::handle h, const Place& place) {
    if (!nb::isinstance<T>(h)) refuse_type(place, "be a " + type(), h);
    return *nb::inst_ptr<T>(h);
  }
};

// Told apart by class: alternatives are classes of this module, and no object is of two.
template <typename... Ts>
struct Convert<std::variant<Ts...>> {
  using V = std::variant<Ts...>;
  static constexpr bool kMayBeNone = (std::is_same_v<Ts, std::monostate> || ...);

  static std::string type() {
    std::string types;
    (add<Ts>(types), ...);
    return kMayBeNone ? types + " | None" : types;
  }
  static std::string taken() { return type(); }
  static nb::object to_python(const V& value, nb::handle owner) {
    return std::visit(
        [&](const auto& alternative) -> nb::object {
          using T = std::decay_t<decltype(alternative)>;
          if constexpr (std::is_same_v<T, std::monostate>) {
            return nb::none();
          } else {
            return Convert<T>::to_python(alternative, owner);
          }
        },
        value);
  }
  static V from_python(nb::handle h, const Place& place) {
    if constexpr (kMayBeNone) {
      if (h.is_none()) return V{};
    }
    std::optional<V> found;
    (take<Ts>(h, found), ...);
    if (!found) refuse_type(place, "be a " + type(), h);
    return *std::move(found);
  }

 private:
  template <typename T>
  static void add(std::string& types) {
    if constexpr (!std::is_same_v<T, std::monostate>)
      types.append(types.empty() ? "" : " | ").append(Convert<T>::type());
  }
  template <typename T>
  static void take(nb::handle h, std::optional<V>& found) {
    if constexpr (!std::is_same_v<T, std::monostate>) {
      if (nb::isinstance<T>(h)) found.emplace(*nb::inst_ptr<T>(h));
    }
  }
};

}  // namespace posenc::python
