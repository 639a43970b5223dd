// What a command writes to standard output, line by line, composed before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::tool {

// `warning` is yellow.
enum class Style : std::uint8_t { plain, bold, dim, warning };

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}

  // `text` between the codes of `style`, or as it is without colour. Pad before painting.
  std::string paint(Style style, std::string_view text) const;

  void line(std::string_view text);
  void blank() { line(""); }
  // The label at `indent`, the text from column `at`, wrapped there; of a long one an excerpt (text.h). An empty label
  // continues.
  void entry(std::int64_t indent, std::string_view label, std::int64_t at, std::string_view text,
             Style style = Style::plain);
  // Rows that are too wide are not wrapped: callers can ask table_columns() before, and leave columns out.
  // Columns as wide as their widest cell, two spaces between; the first row is the head.
  void table(std::int64_t indent, const std::vector<std::vector<std::string>>& rows);

  const std::string& text() const { return text_; }

 private:
  bool colour_;
  std::string text_;
};

// Columns that `rows` takes in Page::table, without the indent.
std::int64_t table_columns(const std::vector<std::vector<std::string>>& rows);

// --color: by what standard output is and what the environment says, or whatever they are.
enum class ColourChoice : std::uint8_t { automatic, always, never };
// Of this run of the tool; automatic until it is called.
void choose_colour(ColourChoice choice);
// Whether standard output wants colour: it is a terminal, TERM is not dumb, NO_COLOR is not set (no-color.org: or is
// empty); or what was chosen.
bool output_wants_colour();

// Writes all of `text` to standard output. Returns kOk; or, with a message on standard error, kFile. A reader that
// went away (EPIPE) is no news to anybody: kFile without a message.
int write_output(std::string_view text);
// Writes to standard error as far as that is possible.
void write_message(std::string_view text);

}  // namespace posenc::tool
