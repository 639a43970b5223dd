// Lines of code in the making: indentation, wrapped comments, numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace posenc::code {

inline constexpr std::size_t kColumns = 100;

class Lines {
 public:
  // Of several lines, each is indented.
  void add(std::string_view text, int indent = 0);
  void blank() { text_ += '\n'; }
  // Wrapped, each line behind `mark`: "// ", "# ". A newline in the text begins a line.
  void comment(std::string_view mark, std::string_view text, int indent = 0);
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// `line` with its note behind it, or above it where that is too long for one line.
void add_noted(Lines& out, const std::string& line, std::string_view behind, std::string_view above,
               const std::string& note);

// At spaces, into lines of at most `columns`; a word that is longer stands alone.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

// An expression over lines of at most `columns` where operators and commas allow: a line begins with its operator.
std::vector<std::string> broken(std::string_view expression, std::size_t columns);

// The shortest text that reads back as this double, with a point or an exponent: "500000.0", "1e-05".
std::string real_text(double value);
std::string real_text(float value);

std::string upper(std::string_view name);        // "head_dim": "HEAD_DIM"
std::string upper_camel(std::string_view name);  // "HeadDim"
std::string sentence(std::string_view text);     // with a capital and a full stop

// `open`, elements over lines of kColumns, `close`. In one line where they fit behind `column` columns.
std::string list_text(const std::vector<std::string>& elements, std::string_view open, std::string_view close,
                      std::size_t column, int indent);

}  // namespace posenc::code
