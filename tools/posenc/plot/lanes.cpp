// Lanes: curves over one axis that would lie on each other, each in a plane of its own, one below the other, with the
// same numbers at the same height. Where there is room a step has its number on it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/plane.h"

namespace posenc::tool {
namespace {

// In pixels. Above a lane stands its curve's name; the highest step has its number, a line of text, above it.
constexpr double kLaneHeight = 92.0;
constexpr double kNameHeight = 24.0;
constexpr double kAboveStep = 5.0;  // from a step to the baseline of its number
constexpr double kNumbersApart = 22.0;
constexpr double kLeft = 62.0;  // as of curves: seven characters and a gap

// The number of each step over its middle, where the narrowest has room for the longest.
void draw_numbers(Svg& svg, const Curves& curves, const Curve& curve, const Plane& plane) {
  double narrowest = plane.box.right - plane.box.left;
  double widest = 0.0;
  for (std::size_t n = 0; n + 1 < curve.points.size(); ++n) {
    if (!shown(curves, curve.points[n])) continue;
    narrowest = std::min(narrowest, plane.x(curve.points[n + 1].x) - plane.x(curve.points[n].x));
    widest = std::max(widest, text_width(number(curve.points[n].y)));
  }
  if (widest + 4.0 > narrowest) return;
  for (std::size_t n = 0; n + 1 < curve.points.size(); ++n) {
    const Point& point = curve.points[n];
    if (!shown(curves, point)) continue;
    const double middle = (plane.x(point.x) + plane.x(curve.points[n + 1].x)) / 2.0;
    svg.text(middle, plane.y(point.y) - kAboveStep, Anchor::middle, "ink", number(point.y));
  }
}

// How far down a mark's line goes in the lines of text above the lanes, `all` of them: to the first name in its way.
std::int64_t lines_down(const std::vector<MarkName>& names, const MarkName& mark, std::int64_t all) {
  for (const MarkName& name : names) {
    if (name.line > mark.line && name.from < mark.x && mark.x < name.to) all = std::min(all, name.line);
  }
  return all;
}

std::string summary_of(const Curves& curves) {
  std::vector<std::string> names;
  for (const Curve& curve : curves.curves) names.push_back(curve.key.empty() ? curve.name : curve.key);
  return formatted("{} by {}, one below the other: {}.", curves.y.label, curves.x.label, join(names, "; "));
}

}  // namespace

std::string draw_lanes(const Figure& figure, const Curves& curves) {
  const Extents extents = extents_of(curves);
  const double right = kPictureWidth - kMargin - 6.0;
  Plane plane{{kLeft, 0.0, right, 0.0}, projection(curves.x, extents.x, false, kLeft, right), {}};
  const std::vector<MarkName> names = mark_names(curves, plane);
  std::int64_t lines = 0;
  for (const MarkName& name : names) lines = std::max(lines, name.line + 1);
  const double top = below_heading(figure) + kLineHeight * static_cast<double>(curves.marks.empty() ? 0 : lines) + 4.0;
  const double lane = kNameHeight + kLaneHeight;
  const double bottom = top + lane * static_cast<double>(curves.curves.size());
  Svg svg = with_heading(figure, bottom + 37.0 + kMargin, summary_of(curves));
  for (std::size_t n = 0; n < curves.marks.size(); ++n) {
    const MarkName& name = names[n];
    const double beside = name.anchor == Anchor::start ? 6.0 : -6.0;
    const double baseline = below_heading(figure) + 10.0 + kLineHeight * static_cast<double>(name.line);
    const std::int64_t down = lines_down(names, name, lines);
    svg.line(name.x, baseline - 10.0, name.x,
             down == lines ? top : baseline - 12.0 + kLineHeight * static_cast<double>(down - name.line), "mark d");
    svg.text(name.x + beside, baseline, name.anchor, "soft", curves.marks[n].name);
  }
  for (std::int64_t i = 0; i < std::ssize(curves.curves); ++i) {
    const Curve& curve = curves.curves[static_cast<std::size_t>(i)];
    plane.box.top = top + lane * static_cast<double>(i) + kNameHeight;
    plane.box.bottom = plane.box.top + kLaneHeight;
    plane.y = projection(curves.y, extents.y, true, plane.box.bottom, plane.box.top + kLineHeight);
    draw_grid(svg, curves.y, plane, kNumbersApart);
    // Not through the lanes' names.
    for (const MarkName& name : names) svg.line(name.x, plane.box.top, name.x, plane.box.bottom, "mark d");
    svg.fill(formatted("f{}", i), colour_of(curves, i));
    svg.text(kMargin, plane.box.top - 4.0, Anchor::start, formatted("b f{}", i),
             curve.key.empty() ? curve.name : curve.key);
    draw_curve(svg, curves, i, plane);
    draw_numbers(svg, curves, curve, plane);
  }
  svg.text(right, top + kNameHeight - 4.0, Anchor::end, "soft", curves.y.label);
  draw_x_axis(svg, curves.x, plane);
  return svg.finished();
}

}  // namespace posenc::tool
