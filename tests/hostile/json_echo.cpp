// Reads texts from standard input, one per line in hexadecimal, and answers each on a line: "error KIND", or the JSON
// that was understood. json_differential.py compares the answers with Python's json.
#include <iostream>
#include <string>

#include "io/json.h"
#include "io/json_writer.h"

namespace {

using posenc::io::JsonKind;
using posenc::io::JsonValue;
using posenc::io::JsonWriter;

void write(const JsonValue& value, JsonWriter& json) {
  switch (value.kind()) {
    case JsonKind::null: return json.null();
    case JsonKind::boolean: return json.value(*value.as_bool());
    case JsonKind::string: return json.value(*value.as_string());
    case JsonKind::number:
      // As Python does: with a point or an exponent it is a float.
      if (value.text().find_first_of(".eE") == std::string_view::npos) {
        if (const auto whole = value.as_int(); whole.ok()) return json.value(*whole);
      }
      if (const auto number = value.as_double(); number.ok()) return json.value(*number);
      return json.null();
    case JsonKind::array:
      json.begin_array();
      for (const JsonValue& item : value.items()) write(item, json);
      return json.end_array();
    case JsonKind::object:
      json.begin_object();
      for (const JsonValue& item : value.items()) {
        json.key(item.key());
        write(item, json);
      }
      return json.end_object();
  }
}

std::string from_hexadecimal(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
    out += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto document = posenc::io::JsonDocument::parse(from_hexadecimal(line), "text");
    if (!document.ok()) {
      std::cout << "error " << name(document.error().kind) << "\n";
      continue;
    }
    JsonWriter json(posenc::io::JsonLayout::line);
    write(document->root(), json);
    std::cout << json.take() << "\n";
  }
}
