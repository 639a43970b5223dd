// Both directions are one walk over the cells: of the grid, and of the grid transposed.
#include "plot/heat_paths.h"

#include <algorithm>
#include <iterator>

#include "line/formatted.h"

namespace posenc::tool {
namespace {

// Cells in reading order, or column by column.
struct Grid {
  const std::vector<int>& levels;
  std::int64_t rows;
  std::int64_t columns;
  bool transposed;

  std::int64_t lines() const { return transposed ? columns : rows; }
  std::int64_t length() const { return transposed ? rows : columns; }
  int at(std::int64_t line, std::int64_t i) const {
    return levels[static_cast<std::size_t>(transposed ? i * columns + line : line * columns + i)];
  }
};

// One level's strokes, each relative to the end of the last.
struct Pen {
  std::string data{};
  double line = 0.0;
  double along = 0.0;

  void stroke(bool vertical, double on, double from, double to) {
    const double step = on - line;
    const double gap = from - along;
    data += vertical ? formatted("m{} {}v{}", step, gap, to - from) : formatted("m{} {}h{}", gap, step, to - from);
    line = on;
    along = to;
  }
};

// A stroke for each run of equal cells, those of the ground and of kNoLevel left out.
std::map<int, std::string> paths_of(const Grid& grid, int ground) {
  std::map<int, Pen> pens;
  for (std::int64_t line = 0; line < grid.lines(); ++line) {
    for (std::int64_t from = 0; from < grid.length();) {
      const int level = grid.at(line, from);
      std::int64_t to = from + 1;
      while (to < grid.length() && grid.at(line, to) == level) ++to;
      if (level != ground && level != kNoLevel) {
        // A stroke lies on both sides of its path: half a cell into the line.
        pens[level].stroke(grid.transposed, static_cast<double>(line) + 0.5, static_cast<double>(from),
                           static_cast<double>(to));
      }
      from = to;
    }
  }
  std::map<int, std::string> paths;
  for (auto& [level, pen] : pens) paths.emplace(level, std::move(pen.data));
  return paths;
}

std::size_t bytes_of(const std::map<int, std::string>& paths) {
  std::size_t total = 0;
  for (const auto& [level, data] : paths) total += data.size();
  return total;
}

// kNoLevel where some cell has no level: the ground would be seen in its place.
int most_frequent(const std::vector<int>& levels) {
  std::map<int, std::int64_t> counts;
  for (const int level : levels) ++counts[level];
  if (counts.empty() || counts.contains(kNoLevel)) return kNoLevel;
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

HeatPaths heat_paths(const std::vector<int>& levels, std::int64_t rows, std::int64_t columns) {
  const int ground = most_frequent(levels);
  std::map<int, std::string> across = paths_of({levels, rows, columns, false}, ground);
  std::map<int, std::string> down = paths_of({levels, rows, columns, true}, ground);
  return {ground, bytes_of(across) <= bytes_of(down) ? std::move(across) : std::move(down)};
}

}  // namespace posenc::tool
