// What a picture shows, before it is drawn: numbers with their units and words. draw.h makes SVG of it, figure_json.h
// JSON. A number that is not finite stands for nothing and is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace posenc::tool {

// ---- Heat maps: one, or a few side by side over the same rows, columns and colours ----

// The axis of a heat map's rows or columns.
struct Cells {
  std::string label;                 // with its unit: "position (tokens)"
  double first = 0.0;                // of the first row or column; the others count on
  std::vector<std::string> names{};  // instead of numbers, one each
};

// One map; its name stands above it, where several have to be told apart: "without", "with".
struct HeatMap {
  std::string name{};
  std::vector<double> values;  // [rows, columns]
};

// Colours go from the least to the most value of all maps together, so that maps can be compared; where both signs
// occur, as far below 0 as above it.
struct HeatMaps {
  std::int64_t rows = 0;  // the first at the top
  std::int64_t columns = 0;
  Cells row;
  Cells column;
  std::string value;              // what colours stand for, with its unit
  std::optional<double> least{};  // of the colours; left out: the least there is
  bool square = true;             // cells: rows and columns count the same things
  std::string nothing{};          // what it means where there is no number: "masked: it is in the future"
  std::vector<HeatMap> maps;
};

// ---- Curves over one axis ----

// The axis of numbers. `least` and `most` fix its ends; left out, they follow from the values.
struct Scale {
  std::string label;  // with its unit
  bool logarithmic = false;
  bool whole = false;  // only whole numbers mean something
  std::optional<double> least{};
  std::optional<double> most{};
};

// On a logarithmic axis a number at or below 0 is left out too. A line is interrupted where a point is left out.
struct Point {
  double x = 0.0;
  double y = 0.0;
};

// steps: a value holds until the next point, as rows of tables do. dots: each point by itself, as pairs of channels
// are.
enum class CurveStyle : std::uint8_t { line, dashes, steps, dots };

// Points are joined in their order. The name stands beside the last of them.
struct Curve {
  std::string name{};
  std::vector<Point> points;
  CurveStyle style = CurveStyle::line;
  std::string key{};  // a sentence for the legend, where the name alone does not say what the curve is
};

// A straight line across: a trained length, say.
struct Mark {
  std::string name;
  double at = 0.0;
  enum class Of : std::uint8_t { x, y } of = Of::x;
};

struct Curves {
  Scale x;
  Scale y;
  std::vector<Curve> curves;
  bool ordered = false;       // the curves are steps of one thing, from the first to the last: heads, distances
  bool lanes = false;         // curves that coincide: each in a plane of its own, one below the other
  bool names_at_ends = true;  // false where the legend says all
  std::vector<Mark> marks{};
};

// ---- Dials: pairs of channels, rotated ----

// Where a pair that was (1, 0) points at the position `name`: cos and sin, times the attention factor, so that hands of
// YaRN end beyond the rim.
struct Hand {
  std::string name{};
  double a = 0.0;  // the pair's two channels; the rim has length 1
  double b = 0.0;
};

// One pair: `name` and `detail` stand above it ("pair 3", "wavelength 42"), `note` below it; a hand for each position.
struct Dial {
  std::string name{};
  std::string detail{};
  std::string note{};  // "5.9 degrees"
  std::vector<Hand> hands;
};

struct Dials {
  std::vector<Dial> dials;
};

struct Figure {
  std::string title;
  std::string detail{};  // the parameters that were drawn
  std::variant<HeatMaps, Curves, Dials> content;
};

}  // namespace posenc::tool
