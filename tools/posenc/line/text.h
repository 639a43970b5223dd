// Text for a terminal: made safe, measured in columns, wrapped; and numbers as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::tool {

// Text on standard output is wrapped here, on a terminal or not: the same call gives the same lines.
inline constexpr std::int64_t kColumns = 80;

struct CodePoint {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8 (Unicode 15, table 3-7)
};
// The first character of a text that is not empty.
CodePoint first_code_point(std::string_view text);
// Steers a terminal, or reorders or hides text.
bool is_unsafe(std::uint32_t code);

// Control characters, bidirectional and invisible characters and broken UTF-8 become \xNN; all else stays.
std::string printable(std::string_view text);

// Columns that printable text takes on a terminal: 2 for East Asian wide characters, 0 for combining marks.
std::int64_t columns(std::string_view printable_text);

// What a page shows of text that comes from files: of a word, and of all of it, not more than anybody reads, then "..."
// and how many bytes it has.
inline constexpr std::size_t kLongestWord = 160;  // bytes: two lines
std::string excerpt(std::string_view text, std::size_t longest_word = kLongestWord);

// Lines of at most `width` columns, broken at spaces, and inside a word only when it is wider than a line.
std::vector<std::string> wrap(std::string_view printable_text, std::int64_t width);

// At most `width` columns: the end, or with `keep_end` the start, becomes "...".
std::string shorten(std::string_view printable_text, std::int64_t width, bool keep_end = false);

// `text` and spaces up to `width` columns.
std::string padded(std::string_view text, std::int64_t width);

// 131072, 0.0883883, 1e-06: whole numbers in full, others with `digits` significant digits.
std::string number(double value, int digits = 6);
// The shortest text that reads back as the same double.
std::string exact_number(double value);

// "1 layer", "34 layers".
std::string count(std::int64_t n, std::string_view singular, std::string_view plural = {});

std::string join(const std::vector<std::string>& parts, std::string_view between);
// The parts between the commas of a list, empty ones too.
std::vector<std::string> split(std::string_view list);

}  // namespace posenc::tool
