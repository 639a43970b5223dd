// Levels of a heat map as paths: runs of equal cells are one stroke each, so that a map of thousands of cells is a few
// kilobytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace posenc::tool {

inline constexpr int kNoLevel = -1;

// A path's data is one run after another, "m dx dy h length" along a row or "m dx dy v length" down a column, each from
// where the last one ended, the first from 0 0: relative numbers are short.
struct HeatPaths {
  int ground = kNoLevel;             // the level of most cells: painted first, below all others
  std::map<int, std::string> paths;  // of the other levels: data of a path whose strokes are 1 wide, in units of cells
};

// levels: [rows, columns]; cells of kNoLevel are left free, and there is no ground then.
// Runs go along rows or down columns, whichever takes fewer bytes.
HeatPaths heat_paths(const std::vector<int>& levels, std::int64_t rows, std::int64_t columns);

}  // namespace posenc::tool
