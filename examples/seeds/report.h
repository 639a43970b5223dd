// One row for each listing, formula, figure and experiment of a text: its numbers beside posenc's, and what comes of
// it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numbers.h"

namespace seeds {

// Sums of at most 64 products of numbers below 16, each off by 2^-53 of itself: 64 * 16 * 2^-53 = 1.1e-13 and, as an
// argument of exp, a few times that.
inline constexpr double kRounding = 1e-12;

// Whether all numbers are finite and within `tolerance` of each other; false for lists of different lengths.
bool agree(const Numbers& a, const Numbers& b, double tolerance);

struct Item {
  std::string_view item;  // where it stands: "(20)", "In [46]"
  std::string_view what;  // what it is
  Numbers text;           // the text's numbers: printed there, or what its formula or listing gives
  Numbers posenc;         // what the library gives
  std::string_view by;    // the call
  // Where the text errs: why, and the corrected formula's numbers, where it is a formula. `text` must then differ from
  // posenc's numbers, and these must agree with them.
  std::string_view errs{};
  std::optional<Numbers> corrected{};
  // Where it holds under a condition only: which, and what comes of it without; that must differ.
  std::string_view condition{};
  std::optional<Numbers> without{};
  double tolerance = kRounding;
  int decimals = -1;        // as many are printed in the text: tolerance is half of the last one's unit
  std::size_t first = 0;    // of the numbers that are shown, where there are many
  std::string_view said{};  // shown instead of the text's numbers: its word
};

struct Row {
  std::string text_name, item, what, text, posenc, by, verdict, remark;
  bool failed = false;
};

class Report {
 public:
  // With `spoil` each row's numbers are made wrong before they are compared, so that every row must fail.
  explicit Report(bool spoil) : spoil_(spoil) {}

  void begin(std::string_view name, std::string_view title);
  void add(Item item);

  std::vector<Row> rows;
  std::vector<std::pair<std::string, std::string>> titles;  // name, title

 private:
  bool spoil_ = false;
};

// Rows under their text's title; and one line a row, fields separated by tabs.
void print(const Report& report, std::ostream& out);
void print_tsv(const Report& report, std::ostream& out);

}  // namespace seeds
