// Where an axis is marked: at round numbers.
#pragma once

#include <string>
#include <vector>

namespace posenc::tool {

// A bound that is infinite, or no number above 0 on a logarithmic axis, counts as the last number on its side.
struct Tick {
  double value = 0.0;
  std::string label;
};

// At the multiples of 1, 2 or 5 times a power of ten that lie in [low, high], at most `most` (two or more) of them.
std::vector<Tick> linear_ticks(double low, double high, int most);
// The same, of whole numbers.
std::vector<Tick> whole_ticks(double low, double high, int most);
// At powers of ten; where fewer than three lie in [low, high], at 2 and 5 times them too. 0 < low.
std::vector<Tick> log_ticks(double low, double high, int most);

}  // namespace posenc::tool
