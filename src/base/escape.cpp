// Escapes text from files for messages: \xNN for each byte that is not well-formed UTF-8 and for characters that move
// the cursor or reorder what is shown (CVE-2021-42574, "Trojan Source"). base/utf8.h says which these are.
#include "base/escape.h"

#include <cstddef>

#include "base/formatted.h"
#include "base/utf8.h"

namespace posenc::inline v0_2 {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const std::size_t taken = point.length == 0 ? 1 : point.length;
    if (point.length == 0 || steers_a_terminal(point.value)) {
      for (const char c : text.substr(0, taken)) {
        out += formatted("\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else {
      out += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace posenc::inline v0_2
