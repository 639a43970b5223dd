#include "plan/text/text_lines.h"

#include <algorithm>

#include "base/formatted.h"

namespace posenc::plan {

std::string ascii(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += formatted("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

void TextLines::add(std::size_t indent, std::string_view text) {
  const std::string shown = ascii(text);
  std::string_view rest = shown;
  for (std::size_t column = indent;; column = indent + 2) {
    const std::size_t room = kColumns - column;
    const std::size_t blank = rest.size() <= room ? rest.size() : rest.rfind(' ', room);
    const bool is_broken = blank != std::string_view::npos && blank != 0;
    const std::size_t taken = is_broken ? blank : std::min(room, rest.size());
    const std::string_view line = rest.substr(0, taken);
    out_.append(column, ' ').append(line.substr(0, line.find_last_not_of(' ') + 1)) += '\n';
    rest.remove_prefix(std::min(rest.size(), is_broken ? taken + 1 : taken));
    if (rest.empty()) return;
  }
}

std::string_view pairing_words(Pairing pairing) {
  return pairing == Pairing::half ? "half-split (NeoX, rotate_half)" : "interleaved (GPT-J)";
}

}  // namespace posenc::plan
