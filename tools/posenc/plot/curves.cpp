// Curves: two axes with a grid, lines with their names at their ends or in a legend, and marks across.
#include <algorithm>
#include <utility>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/plane.h"

namespace posenc::tool {
namespace {

// In pixels. kNameSpace is kLineHeight: names stand as close as lines of text.
constexpr double kPlotHeight = 300.0;
constexpr double kNameSpace = 16.0;  // between two names of curves
constexpr double kNameGap = 8.0;     // from a curve's end to its name
constexpr double kKeyIndent = 14.0;  // of the legend's text: its sign stands before it

double widest_name(const Curves& curves) {
  double width = 0.0;
  if (!curves.names_at_ends) return width;
  for (const Curve& curve : curves.curves) width = std::max(width, text_width(curve.name));
  return width;
}

// ---- the legend: what curves are, below the picture's detail ----

struct KeyLine {
  std::int64_t curve = 0;
  bool first = true;  // of its curve's lines: the one with the sign
  std::string text;
};

std::vector<KeyLine> key_lines(const Curves& curves) {
  std::vector<KeyLine> out;
  for (std::int64_t i = 0; i < std::ssize(curves.curves); ++i) {
    const std::string& key = curves.curves[static_cast<std::size_t>(i)].key;
    if (key.empty()) continue;
    bool first = true;
    const double room = kPictureWidth - 2 * kMargin - kKeyIndent;
    for (std::string& line : wrap(key, static_cast<std::int64_t>(room / text_width("0")))) {
      out.push_back({i, std::exchange(first, false), std::move(line)});
    }
  }
  return out;
}

double below_legend(const Figure& figure, const Curves& curves) {
  return below_heading(figure) + kLineHeight * static_cast<double>(key_lines(curves).size());
}

void draw_legend(Svg& svg, const Figure& figure, const Curves& curves) {
  // The first baseline is one line below the last of the detail (draw.cpp).
  double y = below_heading(figure) + 4.0;
  for (const KeyLine& line : key_lines(curves)) {
    svg.fill(formatted("f{}", line.curve), colour_of(curves, line.curve));
    if (line.first) draw_dot(svg, line.curve, kMargin + 4.0, y - 4.0);
    svg.text(kMargin + kKeyIndent, y, Anchor::start, formatted("f{}", line.curve), line.text);
    y += kLineHeight;
  }
}

// ---- the plane ----

// Curves go from edge to edge (x has no room beside them) and not quite up and down (y has). On the left, 62 pixels
// hold seven characters and a gap of 7; on the right is the widest name of a curve.
Plane plane_of(const Figure& figure, const Curves& curves) {
  const Extents extents = extents_of(curves);
  const double top = below_legend(figure, curves) + kLineHeight + 6.0;
  const double names = widest_name(curves);
  const Box box{62.0, top, kPictureWidth - kMargin - 6.0 - (names > 0.0 ? names + kNameGap : 0.0), top + kPlotHeight};
  return {box, projection(curves.x, extents.x, false, box.left, box.right),
          projection(curves.y, extents.y, true, box.bottom, box.top)};
}

// Dashed lines with their names.
void draw_marks(Svg& svg, const Curves& curves, const Plane& plane) {
  const Box& box = plane.box;
  const std::vector<MarkName> names = mark_names(curves, plane);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const Mark& mark = curves.marks[n];
    if (mark.of == Mark::Of::x) {
      const MarkName& name = names[n];
      svg.line(name.x, box.top, name.x, box.bottom, "mark d");
      svg.text(name.x + (name.anchor == Anchor::start ? 6.0 : -6.0),
               box.top + 11.0 + kNameSpace * static_cast<double>(name.line), name.anchor, "soft", mark.name);
    } else {
      const double y = plane.y(mark.at);
      svg.line(box.left, y, box.right, y, "mark d");
      svg.text(box.left + 6.0, y - 5.0, Anchor::start, "soft", mark.name);
    }
  }
}

// ---- names of curves ----

struct EndName {
  std::int64_t curve = 0;
  double y = 0.0;
};

// The height of the last point that is shown; the bottom where there is none.
double end_of(const Curves& curves, const Curve& curve, const Plane& plane) {
  for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point) {
    if (shown(curves, *point)) return plane.y(point->y);
  }
  return plane.box.bottom;
}

// Names that would overlap stand one below the other, all together where their curves end on the average.
struct Stacked {
  std::size_t first = 0;
  std::size_t count = 0;
  double sum = 0.0;  // of what y the first name would have for each of them

  double top() const { return sum / static_cast<double>(count); }
  double bottom() const { return top() + kNameSpace * static_cast<double>(count); }
};

// Beside the ends of their curves, from the top down.
// This is isotonic regression by pooling neighbours, which moves names as little as can be in the sum of squares: a
// name that overlaps the stack above joins it, and the stack, which moves by that, may overlap the next one above. Name
// n of a stack stands n kNameSpace below its first, so it wishes the first that much higher than itself.
std::vector<EndName> end_names(const Curves& curves, const Plane& plane) {
  std::vector<EndName> names;
  for (std::int64_t i = 0; i < std::ssize(curves.curves); ++i) {
    const Curve& curve = curves.curves[static_cast<std::size_t>(i)];
    if (curves.names_at_ends && !curve.name.empty()) names.push_back({i, end_of(curves, curve, plane)});
  }
  std::stable_sort(names.begin(), names.end(), [](const EndName& a, const EndName& b) { return a.y < b.y; });
  std::vector<Stacked> stacks;
  for (std::size_t n = 0; n < names.size(); ++n) {
    Stacked next{n, 1, names[n].y};
    while (!stacks.empty() && stacks.back().bottom() > next.top()) {
      const Stacked& above = stacks.back();
      next = {above.first, above.count + next.count,
              above.sum + next.sum - kNameSpace * static_cast<double>(above.count * next.count)};
      stacks.pop_back();
    }
    stacks.push_back(next);
  }
  for (const Stacked& stack : stacks) {
    for (std::size_t n = 0; n < stack.count; ++n) {
      names[stack.first + n].y = stack.top() + kNameSpace * static_cast<double>(n);
    }
  }
  return names;
}

std::string summary_of(const Curves& curves, const Plane& plane) {
  std::vector<std::string> names;
  for (const Curve& curve : curves.curves) {
    if (const std::string& name = curve.key.empty() ? curve.name : curve.key; !name.empty()) names.push_back(name);
  }
  return formatted("{} by {}, from {} to {}{}.", curves.y.label, curves.x.label, number(plane.x.low, 3),
                   number(plane.x.high, 3), names.empty() ? "" : "; curves: " + join(names, ", "));
}

}  // namespace

std::string draw(const Figure& figure, const Curves& curves) {
  if (curves.lanes) return draw_lanes(figure, curves);
  const Plane plane = plane_of(figure, curves);
  Svg svg = with_heading(figure, plane.box.bottom + 37.0 + kMargin, summary_of(curves, plane));
  draw_legend(svg, figure, curves);
  svg.text(kMargin, below_legend(figure, curves) + 8.0, Anchor::start, "soft", curves.y.label);
  draw_grid(svg, curves.y, plane, 55.0);
  draw_x_axis(svg, curves.x, plane);
  draw_marks(svg, curves, plane);
  for (std::int64_t i = 0; i < std::ssize(curves.curves); ++i) draw_curve(svg, curves, i, plane);
  for (const EndName& name : end_names(curves, plane)) {
    const std::string colour = formatted("f{}", name.curve);
    svg.fill(colour, colour_of(curves, name.curve));
    svg.text(plane.box.right + kNameGap, name.y + 4.0, Anchor::start, colour,
             curves.curves[static_cast<std::size_t>(name.curve)].name);
  }
  return svg.finished();
}

}  // namespace posenc::tool
