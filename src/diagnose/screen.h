// Many hypotheses against a few rows first, and the few that hold there against all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

// Some rows of a table; factors and noise are those of all.
MeasuredTable some_rows(const MeasuredTable& table, const std::vector<std::size_t>& rows);
Places of_rows(const Places& places, const std::vector<std::size_t>& rows);
std::vector<std::size_t> all_rows(const MeasuredTable& table);

class Screen {
 public:
  // `rows`: those that count.
  Screen(const MeasuredTable& table, const std::vector<std::size_t>& rows);

  bool holds(const FrequencyList& list, const Places& places, const std::vector<std::int32_t>& axis_of_pair,
             Steps steps = Steps::exact) const;
  // Whether positions exist, one a row, with which the list holds on the screen.
  bool decodes(const FrequencyList& list, const std::vector<double>& expected) const;

 private:
  const MeasuredTable& table_;
  std::vector<std::size_t> rows_;
  MeasuredTable small_;
  std::vector<char> mask_;
};

}  // namespace posenc::inline v0_2::port
