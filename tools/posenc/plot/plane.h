// The plane that curves are drawn in: from numbers to pixels, ticks, and curves as paths or dots.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plot/draw.h"
#include "plot/ticks.h"

namespace posenc::tool {

// From a number to a pixel, linearly or by the logarithm. For y, `from` is the lower edge, so numbers grow upwards.
struct Projection {
  double low = 0.0;
  double high = 1.0;
  bool logarithmic = false;
  double from = 0.0;  // pixel of low
  double to = 1.0;

  double operator()(double value) const;
};

// The least and the most of the numbers that can be shown.
struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void take(const Scale& scale, double value);
};

// Of all curves and marks.
struct Extents {
  Extent x;
  Extent y;
};

struct Plane {
  Box box;
  Projection x;
  Projection y;
};

// Whether the point has a place in the plane; one that has none is left out.
bool shown(const Curves& curves, const Point& point);

Extents extents_of(const Curves& curves);

// A little room beyond the values where `padded`, as far as there are numbers; the scale's own bounds hold as they are.
// Equal values get room too: a factor of 2 either way on a logarithmic axis, else a tenth of the value and at least
// 0.5. Without any value there is 0 to 1, or 1 to 10.
Projection projection(const Scale& scale, Extent extent, bool padded, double from, double to);

// Lines across for y, whose values are read off, with their numbers at the left; `apart` pixels or more between them.
void draw_grid(Svg& svg, const Scale& y, const Plane& plane, double apart);
// The axis below, with short ticks, their numbers and the axis' name: 37 pixels below the plane.
void draw_x_axis(Svg& svg, const Scale& x, const Plane& plane);

// Class sN is the stroke of curve N, fN its fill: of dots here.
void draw_curve(Svg& svg, const Curves& curves, std::int64_t index, const Plane& plane);
// A dot of curve N, by its class fN; neighbours among the curves have other shapes, for eyes that see few hues.
inline constexpr std::int64_t kDotShapes = 4;
void draw_dot(Svg& svg, std::int64_t index, double x, double y);
// A scale of colours for curves that are steps of one thing, else colours that are told apart, in turn.
Colour colour_of(const Curves& curves, std::int64_t index);

// Where the name of each mark at an x stands: right of it, or left where the right has no room; on the first line of
// text, counted from 0, that has room for it.
struct MarkName {
  double x = 0.0;  // of the mark
  Anchor anchor = Anchor::start;
  std::int64_t line = 0;
  double from = 0.0;  // the text's ends
  double to = 0.0;
};
std::vector<MarkName> mark_names(const Curves& curves, const Plane& plane);

// lanes.cpp: each curve in a plane of its own, one below the other.
std::string draw_lanes(const Figure& figure, const Curves& curves);

}  // namespace posenc::tool
