// A whole number among a function's arguments, by the name of both, so that one which does not fit 64 bits is refused
// as other arguments are (refuse.h): nanobind's own conversion answers with a TypeError and a list of signatures. What
// has no __index__ may fit another overload, and is left to that.
//
//   [](const Rope& rope, Whole<"make_table", "count"> count) { ... std::int64_t ... }
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "convert.h"
#include "refuse.h"

namespace posenc::python {

// A literal as a template's argument.
template <std::size_t kSize>
struct Word {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is one.
  consteval Word(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }

  char text[kSize];
};

template <Word kWhere, Word kField>
struct Whole {
  std::int64_t value = 0;
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for its number.
  operator std::int64_t() const { return value; }
};

}  // namespace posenc::python

namespace nanobind::detail {

// It throws where nanobind's casters answer false: whatever has __index__ has chosen the overload.
template <posenc::python::Word kWhere, posenc::python::Word kField>
struct type_caster<posenc::python::Whole<kWhere, kField>> {
  using Number = posenc::python::Whole<kWhere, kField>;
  NB_TYPE_CASTER(Number, const_name("int"))

  bool from_python(handle h, std::uint32_t, cleanup_list*) {
    if (PyIndex_Check(h.ptr()) == 0) return false;
    value.value = posenc::python::Convert<std::int64_t>::from_python(h, {kWhere.view(), kField.view()});
    return true;
  }
};

}  // namespace nanobind::detail
