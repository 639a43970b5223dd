// Text for a terminal or a log: lines of at most 80 ASCII characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "posenc/rope.h"

namespace posenc::plan {

inline constexpr std::size_t kColumns = 80;

// `text` without anything but printable ASCII: every other byte becomes \xNN.
std::string ascii(std::string_view text);

// Collects lines. Each text is broken at blanks; what follows a break stands two columns further right. A word that is
// longer than a line is cut.
class TextLines {
 public:
  void add(std::size_t indent, std::string_view text);
  void blank() { out_ += '\n'; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// The names by which the field knows it: "half-split (NeoX, rotate_half)", "interleaved (GPT-J)".
std::string_view pairing_words(Pairing pairing);

}  // namespace posenc::plan
