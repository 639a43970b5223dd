// Text for a terminal: UTF-8, unsafe characters as \xNN, excerpts, columns (East Asian width), wrapping, numbers.
#include "line/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "line/formatted.h"

namespace posenc::tool {
namespace {

// Both ends belong to it.
struct Range {
  std::uint32_t first, last;
};

template <std::size_t N>
bool within(std::uint32_t code, const std::array<Range, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](Range r) { return code >= r.first && code <= r.last; });
}

// C0, DEL and C1; what reorders or hides text; line separators; the byte order mark; tags.
constexpr std::array<Range, 9> kUnsafe{{{0, 0x1F},
                                        {0x7F, 0x9F},
                                        {0xAD, 0xAD},
                                        {0x61C, 0x61C},
                                        {0x200B, 0x200F},
                                        {0x2028, 0x202E},
                                        {0x2060, 0x206F},
                                        {0xFEFF, 0xFEFF},
                                        {0xE0000, 0xE0FFF}}};
// East Asian Width W and F (Unicode Standard Annex 11), in coarse blocks, and emoji.
constexpr std::array<Range, 8> kWide{{{0x1100, 0x115F},
                                      {0x2E80, 0xA4CF},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0x1F300, 0x1FAFF},
                                      {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 4> kCombining{{{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

// Below the first combining mark, U+0300, everything takes one column; most text is answered there.
std::int64_t columns_of(std::uint32_t code) {
  if (code < 0x300) return 1;
  return within(code, kCombining) ? 0 : within(code, kWide) ? 2 : 1;
}

// The longest head of `text` that fits `width` columns; at least one character, so that callers advance.
std::string_view head(std::string_view text, std::int64_t width) {
  std::size_t taken = 0;
  std::int64_t used = 0;
  while (taken < text.size()) {
    const CodePoint c = first_code_point(text.substr(taken));
    used += columns_of(c.code);
    if (used > width && taken > 0) break;
    taken += std::max<std::size_t>(c.bytes, 1);
  }
  return text.substr(0, taken);
}

constexpr std::size_t kLongestText = 4000;  // bytes that excerpt() leaves whole: half a page

// At most about `bytes` of a text and how long it was, not cut within a character.
std::string cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return formatted("{}... ({} bytes)", text.substr(0, bytes), text.size());
}

}  // namespace

// Bytes that are not UTF-8 are cut short, longer than need be, half of a surrogate pair, or beyond U+10FFFF.
CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  if (byte(0) < 0x80) return {byte(0), 1};
  // A first byte below 0xC2 continues a character, or starts a longer form of ASCII; from 0xF5 on it would lead beyond
  // U+10FFFF.
  const std::size_t bytes = byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : byte(0) < 0xF5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  // [bytes]: what fewer bytes could say is not said in so many.
  constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kSmallest[bytes] || code > 0x10FFFF || surrogate ? CodePoint{} : CodePoint{code, bytes};
}

bool is_unsafe(std::uint32_t code) { return within(code, kUnsafe); }

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    const std::size_t taken = std::max<std::size_t>(c.bytes, 1);
    if (c.bytes == 0 || is_unsafe(c.code)) {
      for (const char byte : text.substr(0, taken)) out += formatted("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::int64_t columns(std::string_view text) {
  std::int64_t total = 0;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    total += columns_of(c.code);
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return total;
}

std::string excerpt(std::string_view text, std::size_t longest_word) {
  if (text.size() <= longest_word) return std::string(text);
  std::string out;
  std::string_view rest = text;
  while (!rest.empty() && out.size() < kLongestText) {
    const std::size_t word = std::min(rest.find(' '), rest.size());
    out += cut(rest.substr(0, word), longest_word);
    const std::size_t spaces = std::min(rest.find_first_not_of(' ', word), rest.size()) - word;
    out.append(std::min(spaces, kLongestWord), ' ');
    rest.remove_prefix(word + spaces);
  }
  return rest.empty() ? out : formatted("{}... ({} bytes)", out, text.size());
}

// A line ends where the next word does not fit; columns of what stands in it are kept, not counted again.
std::vector<std::string> wrap(std::string_view text, std::int64_t width) {
  std::vector<std::string> lines{{}};
  std::int64_t used = 0;
  const auto end_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    std::int64_t left = columns(word);
    if (used > 0 && used + 1 + left > width) end_line();
    if (!lines.back().empty()) {
      lines.back() += ' ';
      ++used;
    }
    while (left > width) {
      const std::string_view part = head(word, width);
      lines.back() += part;
      left -= columns(part);
      end_line();
      word.remove_prefix(part.size());
    }
    lines.back() += word;
    used += left;
  }
  return lines;
}

// The three columns are those of "...".
std::string shorten(std::string_view text, std::int64_t width, bool keep_end) {
  std::int64_t left = columns(text);
  if (left <= width) return std::string(text);
  if (!keep_end) return std::string(head(text, width - 3)) + "...";
  while (left > width - 3) {
    const CodePoint c = first_code_point(text);
    left -= columns_of(c.code);
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return "..." + std::string(text);
}

std::string padded(std::string_view text, std::int64_t width) {
  const std::int64_t missing = std::max<std::int64_t>(0, width - columns(text));
  return std::string(text) + std::string(static_cast<std::size_t>(missing), ' ');
}

std::string number(double value, int digits) {
  // Whole numbers below 1e15 are exact in a double and still readable.
  if (value == std::floor(value) && std::fabs(value) < 1e15) return formatted("{:.0f}", value);
  return formatted("{:.{}g}", value, digits);
}

// fmt prints a double without a precision in the shortest form that reads back.
std::string exact_number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) return formatted("{:.0f}", value);
  return formatted("{}", value);
}

std::string count(std::int64_t n, std::string_view singular, std::string_view plural) {
  if (n == 1) return formatted("1 {}", singular);
  return plural.empty() ? formatted("{} {}s", n, singular) : formatted("{} {}", n, plural);
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += between;
    text += part;
  }
  return text;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts{{}};
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace posenc::tool
