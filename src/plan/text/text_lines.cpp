// Lines of describe() and compare's text: 80 columns of printable ASCII (else \xNN), long texts cut; pairings' words.
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

namespace {

// What excerpt() leaves whole, in bytes: a word of two lines, a text of half a page.
constexpr std::size_t kLongestWord = 160;
constexpr std::size_t kLongestText = 4000;

std::string cut_word(std::string_view word) {
  if (word.size() <= kLongestWord) return std::string(word);
  return formatted("{}... ({} bytes)", word.substr(0, kLongestWord), word.size());
}

// Of text that comes from files, not more than anybody reads, and how much there is.
std::string excerpt(std::string_view text) {
  if (text.size() <= kLongestWord) return std::string(text);
  std::string out;
  std::string_view rest = text;
  while (!rest.empty() && out.size() < kLongestText) {
    const std::size_t word = std::min(rest.find(' '), rest.size());
    const std::size_t spaces = std::min(rest.find_first_not_of(' ', word), rest.size()) - word;
    out.append(cut_word(rest.substr(0, word))).append(std::min(spaces, kLongestWord), ' ');
    rest.remove_prefix(word + spaces);
  }
  return rest.empty() ? out : formatted("{}... ({} bytes)", out, text.size());
}

}  // namespace

void TextLines::add(std::size_t indent, std::string_view text) {
  const std::string shown = excerpt(ascii(text));
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
