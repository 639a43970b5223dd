// Writes what the JSON reader understood as JSON again: for comparisons with other readers, and with itself.
#pragma once

#include <string_view>

#include "io/json/json.h"
#include "io/json/json_writer.h"

namespace posenc::test {

// As Python does, a number with a point or an exponent is a float; what no double holds is null.
inline void write_number(const io::JsonValue& value, io::JsonWriter& json) {
  if (value.text().find_first_of(".eE") == std::string_view::npos) {
    if (const auto whole = value.as_int(); whole.ok()) return json.value(*whole);
  }
  if (const auto number = value.as_double(); number.ok()) return json.value(*number);
  json.null();
}

inline void write_json_value(const io::JsonValue& value, io::JsonWriter& json) {
  const bool is_object = value.kind() == io::JsonKind::object;
  switch (value.kind()) {
    case io::JsonKind::null: return json.null();
    case io::JsonKind::boolean: return json.value(*value.as_bool());
    case io::JsonKind::string: return json.value(*value.as_string());
    case io::JsonKind::number: return write_number(value, json);
    case io::JsonKind::array:
    case io::JsonKind::object: break;
  }
  is_object ? json.begin_object() : json.begin_array();
  for (const io::JsonValue& item : value.items()) {
    if (is_object) json.key(item.key());
    write_json_value(item, json);
  }
  is_object ? json.end_object() : json.end_array();
}

}  // namespace posenc::test
