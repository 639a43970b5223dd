// Where rows stand: --positions, spread over the rows of a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "posenc/rotate.h"

namespace posenc::tool {

// One token of one sequence.
struct Row {
  std::int64_t sequence = 0;
  std::int64_t token = 0;
};

// The word: START (counted from there), a list 5,0,9, or FILE[:NAME] of a tensor of integers or floats. `values` is a
// start, a list of whole numbers, or a list of doubles, in C order.
struct PositionWord {
  std::string text;
  std::string flag = "--positions";  // which gave it, for errors
  std::string file;                  // empty: from the command line
  std::vector<std::int64_t> shape;   // of a list
  std::variant<std::int64_t, std::vector<std::int64_t>, std::vector<double>> values = std::int64_t{0};

  bool counted() const { return std::holds_alternative<std::int64_t>(values); }
};

// Throws UsageError for words that are no positions, Failure for a file that has none.
PositionWord read_positions(const std::string& text, const std::string& flag = "--positions");

class RowPositions {
 public:
  // `offset` is added to every coordinate. Throws UsageError, or of a file Failure, for positions that do not fit
  // `tokens` of `batch` sequences on those axes, and for those that no table serves.
  RowPositions(PositionWord word, std::vector<std::string> axes, std::int64_t batch, std::int64_t tokens,
               std::int64_t offset);

  // [axes, rows], as rotate and its reference take them.
  using List = std::variant<std::vector<std::int64_t>, std::vector<double>>;
  List of(const std::vector<Row>& rows) const;

  // The least and the most of all coordinates; 0 where there are none.
  double least() const { return least_; }
  double most() const { return most_; }
  // All whole numbers.
  bool whole() const;
  const PositionWord& word() const { return word_; }

 private:
  void check_shape() const;
  void find_range();
  [[noreturn]] void refuse(const std::string& what) const;

  PositionWord word_;
  std::vector<std::string> axes_;
  std::int64_t batch_;
  std::int64_t tokens_;
  std::int64_t offset_;
  double least_ = 0.0;
  double most_ = 0.0;
};

// Along the first axis.
double first_coordinate(const RowPositions& positions, const Row& row);

// A list as what rotate takes; it must outlive that.
Positions view(const RowPositions::List& list);

}  // namespace posenc::tool
