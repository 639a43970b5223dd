#include "base/escape.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace posenc {
namespace {

// Length of the well-formed UTF-8 sequence at the head of `text` (Unicode 15, table 3-7), or 0. Sets `code`.
std::size_t sequence_length(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return code = first, 1;
  if (first >= 0xC2 && first < 0xE0 && continues(1)) {
    return code = ((first & 0x1FU) << 6U) | (byte(1) & 0x3FU), 2;
  }
  if (first >= 0xE0 && first < 0xF0 && continues(1) && continues(2)) {
    code = ((first & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU);
    return code >= 0x800 && (code < 0xD800 || code > 0xDFFF) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5 && continues(1) && continues(2) && continues(3)) {
    code = ((first & 0x07U) << 18U) | ((byte(1) & 0x3FU) << 12U) | ((byte(2) & 0x3FU) << 6U) | (byte(3) & 0x3FU);
    return code >= 0x10000 && code <= 0x10FFFF ? 4 : 0;
  }
  return 0;
}

// C0, DEL, C1, and the characters that reorder or hide what a terminal shows.
bool is_dangerous(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x2069) || code == 0xFEFF;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = sequence_length(text, code);
    const std::size_t taken = length == 0 ? 1 : length;
    if (length == 0 || is_dangerous(code)) {
      for (const char c : text.substr(0, taken)) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace posenc
