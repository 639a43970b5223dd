// Heat maps: cells, axes by row and column, and the scale of the colours.
//
//   title, detail                                              with_heading
//   label of the rows                 label of the values
//   name of a map | name of a map
//   ticks | cells | cells | scale of the colours, its numbers
//   ticks or names of the columns, their label, what is hatched
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/draw.h"
#include "plot/heat_paths.h"
#include "plot/ticks.h"

namespace posenc::tool {
namespace {

constexpr int kLevels = 33;  // colours: two neighbours can just be told apart; odd, so that zero has one
// Pixels: from one map to the next, the width of the scale, the largest side of a square cell, the height of all rows.
constexpr double kGap = 22.0;
constexpr double kScaleWidth = 12.0;
constexpr double kLargestCell = 40.0;
constexpr double kTallest = 430.0;

// ---- colours ----

// The numbers of the first and of the last colour.
struct ValueRange {
  double least = 0.0;
  double most = 0.0;

  // Colours away from zero on both sides, as many on each.
  bool with_sign() const { return least < 0.0 && most > 0.0; }
};

// Over all maps of the figure. With both signs it is widened until 0, which is nearly the background, is in its middle.
// heat.least moves the lower end either way: weights start at 0 even where the smallest is 0.1.
ValueRange range_of(const HeatMaps& heat) {
  ValueRange range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const HeatMap& map : heat.maps) {
    for (const double value : map.values) {
      if (!std::isfinite(value)) continue;
      range = {std::min(range.least, value), std::max(range.most, value)};
    }
  }
  if (range.least > range.most) return {};  // nothing to draw
  if (heat.least) range.least = std::min(*heat.least, range.most);
  if (range.with_sign()) {
    const double size = std::max(-range.least, range.most);
    range = {-size, size};
  }
  return range;
}

// From 0, the least, to 1; the middle where all are the same. Halves, as the length of a range may overflow.
double part_of(double value, const ValueRange& range) {
  const double span = range.most / 2.0 - range.least / 2.0;
  return span > 0.0 ? (value / 2.0 - range.least / 2.0) / span : 0.5;
}

// The nearest of the kLevels colours, from 0.
int level_of(double value, const ValueRange& range) {
  if (!std::isfinite(value)) return kNoLevel;
  return static_cast<int>(std::lround((kLevels - 1) * part_of(value, range)));
}

Colour colour_of(int level, const ValueRange& range) {
  const double amount = static_cast<double>(level) / (kLevels - 1);
  return range.with_sign() ? signed_colour(2.0 * amount - 1.0) : rising_colour(amount);
}

// Cells name their colour by class, so that light and dark pages differ in the style sheet alone.
std::string level_class(int level) { return formatted("h{}", level); }

// ---- layout ----

double widest(const std::vector<std::string>& names) {
  double width = 0.0;
  for (const std::string& name : names) width = std::max(width, text_width(name));
  return width;
}

// Pixels; left and top are those of the first map's cells, scale_left and scale_bottom those of the scale.
struct Layout {
  double left = 0.0;
  double top = 0.0;
  double cell_width = 0.0;
  double cell_height = 0.0;
  double width = 0.0;  // of a map
  double height = 0.0;
  double below_names = 0.0;  // what the columns' names take, and the axis' label under them
  bool slanted = false;      // names of columns
  double scale_left = 0.0;
  double scale_bottom = 0.0;

  double map_left(std::int64_t i) const { return left + static_cast<double>(i) * (width + kGap); }
};

// Whole pixels, where there are fewer cells than those: edges stay sharp.
double cell_of(double room, std::int64_t count) {
  const double cell = room / static_cast<double>(count);
  return cell >= 1.0 ? std::floor(cell) : cell;
}

// Maps share what the row axis and the scale leave of the width. On the left, 50 hold six digits of 7 each and a gap of
// 7. Names of columns that are wider than a cell slant by 45 degrees and then take sin 45 = 0.71 of their width
// downwards. The scale is as high as the maps, but from 110 to 240.
Layout layout_of(const Figure& figure, const HeatMaps& heat) {
  // A gap of 18, the scale's 12, 7 to its numbers and 39 for these: five digits of 7 each.
  constexpr double kScaleRoom = 76.0;  // with its numbers
  Layout out;
  const auto maps = static_cast<double>(heat.maps.size());
  out.left = std::max(50.0, kMargin + widest(heat.row.names) + 8.0);
  const double room = (kPictureWidth - out.left - kScaleRoom - (maps - 1.0) * kGap) / maps;
  out.cell_width = cell_of(room, heat.columns);
  out.cell_height = cell_of(kTallest, heat.rows);
  if (heat.square) out.cell_width = out.cell_height = std::min({out.cell_width, out.cell_height, kLargestCell});
  out.width = out.cell_width * static_cast<double>(heat.columns);
  out.height = out.cell_height * static_cast<double>(heat.rows);
  const bool named = std::any_of(heat.maps.begin(), heat.maps.end(), [](const HeatMap& m) { return !m.name.empty(); });
  out.top = below_heading(figure) + kLineHeight + (named ? kLineHeight + 4.0 : 0.0) + 4.0;
  out.slanted = widest(heat.column.names) > out.cell_width - 4.0;
  out.below_names = out.slanted ? 16.0 + 0.72 * widest(heat.column.names) : 20.0;
  out.scale_left = out.map_left(std::ssize(heat.maps) - 1) + out.width + 18.0;
  out.scale_bottom = out.top + std::min(std::max(out.height, 110.0), 240.0);
  return out;
}

// ---- drawing ----

// Cells are strokes in a group whose unit is a cell (heat_paths.h). Below them is the hatch, or the ground, one stroke
// as wide as all rows.
void draw_cells(Svg& svg, const HeatMaps& heat, const HeatMap& map, const Box& box, const Layout& at,
                const ValueRange& range) {
  std::vector<int> levels;
  levels.reserve(map.values.size());
  for (const double value : map.values) levels.push_back(level_of(value, range));
  const HeatPaths found = heat_paths(levels, heat.rows, heat.columns);
  const bool gaps = std::find(levels.begin(), levels.end(), kNoLevel) != levels.end();
  if (gaps) svg.rectangle(box.left, box.top, at.width, at.height, "none");
  svg.add(formatted("<g class=\"c\" transform=\"translate({} {})scale({} {})\">\n", coordinate(box.left),
                    coordinate(box.top), coordinate(at.cell_width), coordinate(at.cell_height)));
  if (found.ground != kNoLevel) {
    svg.stroke(level_class(found.ground), colour_of(found.ground, range));
    svg.add(formatted("<path class=\"{}\" stroke-width=\"{}\" d=\"M0 {}h{}\"/>\n", level_class(found.ground), heat.rows,
                      coordinate(static_cast<double>(heat.rows) / 2.0), heat.columns));
  }
  for (const auto& [level, data] : found.paths) {
    svg.stroke(level_class(level), colour_of(level, range));
    svg.add(formatted("<path class=\"{}\" d=\"M0 0{}\"/>\n", level_class(level), data));
  }
  svg.add("</g>\n");
  svg.add(formatted("<rect class=\"axis\" fill=\"none\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                    coordinate(box.left), coordinate(box.top), coordinate(at.width), coordinate(at.height)));
}

struct CellTick {
  double at;  // in cells, the middle of one
  std::string label;
};

// A name for each cell; or whole numbers, one in 50 pixels at most.
std::vector<CellTick> cell_ticks(const Cells& cells, std::int64_t count, double length) {
  std::vector<CellTick> ticks;
  if (!cells.names.empty()) {
    for (std::int64_t i = 0; i < count; ++i) {
      ticks.push_back({static_cast<double>(i) + 0.5, cells.names[static_cast<std::size_t>(i)]});
    }
    return ticks;
  }
  const int most = std::max(2, static_cast<int>(length / 50.0));
  for (Tick& tick : whole_ticks(cells.first, cells.first + static_cast<double>(count - 1), most)) {
    ticks.push_back({tick.value - cells.first + 0.5, std::move(tick.label)});
  }
  return ticks;
}

void draw_column_axis(Svg& svg, const HeatMaps& heat, const Box& box, const Layout& at) {
  for (const CellTick& tick : cell_ticks(heat.column, heat.columns, at.width)) {
    const double x = box.left + tick.at * at.cell_width;
    // A slanted name ends below its cell.
    if (at.slanted) {
      svg.add(formatted("<text class=\"ink\" text-anchor=\"end\" transform=\"translate({} {})rotate(-45)\">{}</text>\n",
                        coordinate(x + 4.0), coordinate(box.bottom + 14.0), escaped(tick.label)));
      continue;
    }
    if (heat.column.names.empty()) svg.line(x, box.bottom, x, box.bottom + 4.0, "axis");
    svg.text(x, box.bottom + 17.0, Anchor::middle, "ink", tick.label);
  }
}

void draw_row_axis(Svg& svg, const HeatMaps& heat, const Box& box, const Layout& at) {
  for (const CellTick& tick : cell_ticks(heat.row, heat.rows, at.height)) {
    const double y = box.top + tick.at * at.cell_height;
    if (heat.row.names.empty()) svg.line(box.left - 4.0, y, box.left, y, "axis");
    svg.text(box.left - 7.0, y + 4.0, Anchor::end, "ink", tick.label);
  }
}

// From the least to the most, upwards.
void draw_scale(Svg& svg, const Layout& at, const ValueRange& range) {
  const bool one = range.least == range.most;
  const int first = one ? level_of(range.least, range) : 0;
  const int last = one ? first : kLevels - 1;
  const double height = at.scale_bottom - at.top;
  // A band for each colour, so the least value lies in the middle of the first band and the most in that of the last:
  // the ticks are half a band inside.
  const double step = height / static_cast<double>(last - first + 1);
  for (int level = first; level <= last; ++level) {
    svg.stroke(level_class(level), colour_of(level, range));
    svg.add(formatted("<path class=\"c {}\" stroke-width=\"{}\" d=\"M{} {}v{}\"/>\n", level_class(level),
                      coordinate(kScaleWidth), coordinate(at.scale_left + kScaleWidth / 2.0),
                      coordinate(at.scale_bottom - step * static_cast<double>(level - first)), coordinate(-step)));
  }
  for (const Tick& tick : linear_ticks(range.least, range.most, std::max(2, static_cast<int>(height / 40.0)))) {
    const double y = at.scale_bottom - step / 2.0 - part_of(tick.value, range) * (height - step);
    svg.line(at.scale_left + kScaleWidth, y, at.scale_left + kScaleWidth + 4.0, y, "axis");
    svg.text(at.scale_left + kScaleWidth + 7.0, y + 4.0, Anchor::start, "ink", tick.label);
  }
}

// For screen readers.
std::string summary_of(const HeatMaps& heat, const ValueRange& range) {
  std::vector<std::string> names;
  for (const HeatMap& map : heat.maps) {
    if (!map.name.empty()) names.push_back(map.name);
  }
  return formatted("Heat map{}: {} by {}, {} by {} cells; {} from {} to {}{}.",
                   names.empty() ? "" : "s of " + join(names, " and of "), heat.row.label, heat.column.label, heat.rows,
                   heat.columns, heat.value, number(range.least, 3), number(range.most, 3),
                   heat.nothing.empty() ? "" : "; hatched: " + heat.nothing);
}

bool has_gaps(const HeatMaps& heat) {
  return std::any_of(heat.maps.begin(), heat.maps.end(), [](const HeatMap& map) {
    return std::any_of(map.values.begin(), map.values.end(), [](double v) { return !std::isfinite(v); });
  });
}

}  // namespace

std::string draw(const Figure& figure, const HeatMaps& heat) {
  const ValueRange range = range_of(heat);
  const Layout at = layout_of(figure, heat);
  const double bottom = at.top + at.height;
  const double label_y = bottom + at.below_names + kLineHeight;
  const bool gaps = has_gaps(heat);
  const bool legend = gaps && !heat.nothing.empty();
  // What reaches further down: the words below the maps, or the scale beside a low map.
  const double end = std::max(label_y + (legend ? kLineHeight + 4.0 : 0.0) + kMargin, at.scale_bottom + kMargin);
  Svg svg = with_heading(figure, end, summary_of(heat, range));
  if (gaps) {
    svg.add(
        "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<path class=\"grid\" d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\"/></pattern>\n");
  }
  const double above = below_heading(figure) + 8.0;
  svg.text(kMargin, above, Anchor::start, "soft", heat.row.label);
  // The values' label begins at the scale, or ends at the margin where it is too long for that.
  const bool beside = at.scale_left + text_width(heat.value) < kPictureWidth - kMargin;
  svg.text(beside ? at.scale_left : kPictureWidth - kMargin, above, beside ? Anchor::start : Anchor::end, "soft",
           heat.value);
  for (std::int64_t i = 0; i < std::ssize(heat.maps); ++i) {
    const HeatMap& map = heat.maps[static_cast<std::size_t>(i)];
    const Box box{at.map_left(i), at.top, at.map_left(i) + at.width, bottom};
    if (!map.name.empty()) {
      svg.text((box.left + box.right) / 2.0, at.top - 8.0, Anchor::middle, "b ink", map.name);
    }
    draw_cells(svg, heat, map, box, at, range);
    draw_column_axis(svg, heat, box, at);
    if (i == 0) draw_row_axis(svg, heat, box, at);
  }
  const double middle = (at.left + at.map_left(std::ssize(heat.maps) - 1) + at.width) / 2.0;
  svg.text(middle, label_y, Anchor::middle, "soft", heat.column.label);
  if (legend) {
    svg.rectangle(at.left, label_y + 10.0, 12.0, 12.0, "none");
    svg.text(at.left + 18.0, label_y + 20.0, Anchor::start, "soft", heat.nothing);
  }
  draw_scale(svg, at, range);
  return svg.finished();
}

}  // namespace posenc::tool
