// Decodes one code point of UTF-8 and refuses what is not well-formed: overlong forms, surrogates, anything above
// U+10FFFF (Unicode 15, table 3-7), and names the characters that can steer a terminal.
#include "base/utf8.h"

namespace posenc::inline v0_2 {

CodePoint first_code_point(std::string_view text) noexcept {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xC2 && first < 0xE0 && continues(1)) return {((first & 0x1FU) << 6U) | (byte(1) & 0x3FU), 2};
  if (first >= 0xE0 && first < 0xF0 && continues(1) && continues(2)) {
    const std::uint32_t code = ((first & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU);
    if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {code, 3};
  }
  if (first >= 0xF0 && first < 0xF5 && continues(1) && continues(2) && continues(3)) {
    const std::uint32_t code =
        ((first & 0x07U) << 18U) | ((byte(1) & 0x3FU) << 12U) | ((byte(2) & 0x3FU) << 6U) | (byte(3) & 0x3FU);
    if (code >= 0x10000 && code <= 0x10FFFF) return {code, 4};
  }
  return {};
}

bool steers_a_terminal(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

}  // namespace posenc::inline v0_2
