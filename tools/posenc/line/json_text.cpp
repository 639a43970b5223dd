#include "line/json_text.h"

#include <cmath>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += formatted("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_number(double value) { return std::isfinite(value) ? formatted("{}", value) : "null"; }

std::string json_array(const std::vector<std::string>& values) { return "[" + join(values, ", ") + "]"; }

std::string json_object(const std::vector<std::pair<std::string, std::string>>& members) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : members) parts.push_back(json_string(name) + ": " + value);
  return "{" + join(parts, ", ") + "}";
}

}  // namespace posenc::tool
