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

struct Cells {
  std::string label;                 // with its unit: "position (tokens)"
  double first = 0.0;                // of the first row or column; the others count on
  std::vector<std::string> names{};  // instead of numbers, one each
};

struct HeatMap {
  std::string name{};
  std::vector<double> values;  // [rows, columns]
};

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

struct Scale {
  std::string label;  // with its unit
  bool logarithmic = false;
  bool whole = false;  // only whole numbers mean something
  std::optional<double> least{};
  std::optional<double> most{};
};

struct Point {
  double x = 0.0;
  double y = 0.0;
};

enum class CurveStyle : std::uint8_t { line, dashes, steps, dots };

struct Curve {
  std::string name{};
  std::vector<Point> points;
  CurveStyle style = CurveStyle::line;
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
  bool ordered = false;  // the curves are steps of one thing, from the first to the last: heads, distances
  std::vector<Mark> marks{};
};

// ---- Dials: pairs of channels, rotated ----

struct Hand {
  std::string name{};
  double a = 0.0;  // the pair's two channels; the rim has length 1
  double b = 0.0;
};

struct Dial {
  std::string name{};
  std::string detail{};
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
