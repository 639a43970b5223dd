// From a figure to SVG.
//
// Each picture has its title and detail on top and is kPictureWidth wide; how high it is follows from what it holds.
// All numbers are SVG's user units, which are CSS pixels unless the page scales the picture; y grows downwards.
#pragma once

#include <string>

#include "plot/figure.h"
#include "plot/svg.h"

namespace posenc::tool {

// The whole file, as draw() below gives it for the alternative of figure.content.
std::string svg_of(const Figure& figure);

// ---- its parts, a file each ----

struct Box {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;
};

// What is left free at both sides and below; from one baseline to the next of text in the small size (12).
inline constexpr double kMargin = 14.0;
inline constexpr double kLineHeight = 16.0;

// Where a picture's own part begins, below its title and detail.
double below_heading(const Figure& figure);
// An empty picture with title and detail. `summary` says in words what is drawn.
Svg with_heading(const Figure& figure, double height, const std::string& summary);

// heat_maps.cpp, curves.cpp, dials.cpp.
std::string draw(const Figure& figure, const HeatMaps& heat);
std::string draw(const Figure& figure, const Curves& curves);
std::string draw(const Figure& figure, const Dials& dials);

}  // namespace posenc::tool
