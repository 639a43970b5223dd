// All on one line, since programs read it; who prints a document adds the line's end. JSON needs no escape for the
// slash and for what is not ASCII (RFC 8259, section 7). What is not UTF-8 becomes U+FFFD, as in the library's JSON,
// and what would steer a terminal is escaped.
#include "line/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Beyond U+FFFF as a surrogate pair.
std::string escape_of(std::uint32_t code) {
  if (code < 0x10000) return formatted("\\u{:04x}", code);
  return formatted("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10U), 0xDC00 + (code & 0x3FFU));
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(c.bytes, 1));
    if (c.bytes == 0) {
      out += kReplacement;
    } else if (c.code == '"' || c.code == '\\') {
      out += {'\\', static_cast<char>(c.code)};
    } else if (is_unsafe(c.code)) {
      out += escape_of(c.code);
    } else {
      out += bytes;
    }
    text.remove_prefix(bytes.size());
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
