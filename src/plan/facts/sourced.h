// A value of the plan together with where it came from.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "io/json/json.h"

namespace posenc::plan {

// `from` is a JSON pointer into the file ("/rope_theta") or "default: why".
template <typename T>
struct Sourced {
  T value{};
  std::string from;
};

// A value that may be absent. Absent with a `from`: the file says null there, and null has a meaning of its own.
template <typename T>
using Setting = Sourced<std::optional<T>>;

// The value, or where there is none the other.
template <typename T>
Sourced<T> given_or(const Setting<T>& given, Sourced<T> otherwise) {
  return given.value ? Sourced<T>{*given.value, given.from} : std::move(otherwise);
}

// Where a field came from, below what it is a field of: "base", "scaling/factor".
struct FieldSource {
  std::string field;
  std::string from;
};

// A JSON value of the file, or of a class default.
struct Place {
  io::JsonValue value;
  std::string from;
  bool in_file = true;
};

}  // namespace posenc::plan
