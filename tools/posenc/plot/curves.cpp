// Curves: two axes with a grid, lines with their names at their ends, and marks across.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/draw.h"
#include "plot/ticks.h"

namespace posenc::tool {
namespace {

// In pixels. kNameSpace is kLineHeight: names stand as close as lines of text.
constexpr double kPlotHeight = 300.0;
constexpr double kNameSpace = 16.0;  // between two names of curves
constexpr double kNameGap = 8.0;     // from a curve's end to its name
constexpr double kLargestDrawn = std::numeric_limits<double>::max();
constexpr double kSmallestDrawn = std::numeric_limits<double>::denorm_min();  // on a logarithmic axis

// ---- from numbers to pixels ----

// False for a number that has no place on the axis; its point is left out.
bool shown(const Scale& scale, double value) { return std::isfinite(value) && (!scale.logarithmic || value > 0.0); }

// From a number to a pixel, linearly or by the logarithm. For y, `from` is the lower edge, so numbers grow upwards.
struct Projection {
  double low = 0.0;
  double high = 1.0;
  bool logarithmic = false;
  double from = 0.0;  // pixel of low
  double to = 1.0;

  double operator()(double value) const {
    // A length that overflows is measured in a power of two that exceeds a picture's pixels.
    const double unit = logarithmic || std::isfinite((to - from) * (high - low)) ? 1.0 : 0x1p-12;
    const auto in = [&](double v) { return logarithmic ? std::log10(v) : unit * v; };
    return from + (to - from) * (in(value)-in(low)) / (in(high)-in(low));
  }
};

// The least and the most of the numbers that can be shown.
struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void take(const Scale& scale, double value) {
    if (!shown(scale, value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

// A little room beyond the values where `padded`, as far as there are numbers; the scale's own bounds hold as they are.
// Equal values get room too: a factor of 2 either way on a logarithmic axis, else a tenth of the value and at least
// 0.5. Without any value there is 0 to 1, or 1 to 10.
Projection projection(const Scale& scale, Extent extent, bool padded, double from, double to) {
  if (extent.least > extent.most) extent = {scale.logarithmic ? 1.0 : 0.0, scale.logarithmic ? 10.0 : 1.0};
  constexpr double kRoom = 0.04;  // of the length
  if (scale.logarithmic) {
    const double ratio = std::min(extent.most / extent.least, kLargestDrawn);
    const double times = extent.most > extent.least ? std::pow(ratio, padded ? kRoom : 0.0) : 2.0;
    extent = {std::max(extent.least / times, kSmallestDrawn), std::min(extent.most * times, kLargestDrawn)};
  } else {
    const double room = extent.most > extent.least ? (padded ? kRoom * (extent.most - extent.least) : 0.0)
                                                   : std::max(0.5, 0.1 * std::fabs(extent.most));
    extent = {std::max(extent.least - room, -kLargestDrawn), std::min(extent.most + room, kLargestDrawn)};
  }
  return {scale.least.value_or(extent.least), scale.most.value_or(extent.most), scale.logarithmic, from, to};
}

std::vector<Tick> ticks_of(const Scale& scale, const Projection& at) {
  // 55 pixels from one tick to the next hold a label of seven characters (text_width: 7 each) and a gap.
  const int most = std::max(2, static_cast<int>(std::fabs(at.to - at.from) / 55.0));
  if (scale.logarithmic) return log_ticks(at.low, at.high, most);
  return scale.whole ? whole_ticks(at.low, at.high, most) : linear_ticks(at.low, at.high, most);
}

// Where the plot stands in the picture, and its two axes.
struct Plane {
  Box box;
  Projection x;
  Projection y;
};

double widest_name(const Curves& curves) {
  double width = 0.0;
  for (const Curve& curve : curves.curves) width = std::max(width, text_width(curve.name));
  return width;
}

// Curves go from edge to edge (x has no room beside them) and not quite up and down (y has). On the left, 62 pixels
// hold seven characters and a gap of 7; on the right is the widest name of a curve.
Plane plane_of(const Figure& figure, const Curves& curves) {
  Extent x;
  Extent y;
  for (const Curve& curve : curves.curves) {
    for (const Point& point : curve.points) {
      if (!shown(curves.x, point.x) || !shown(curves.y, point.y)) continue;
      x.take(curves.x, point.x);
      y.take(curves.y, point.y);
    }
  }
  for (const Mark& mark : curves.marks) {
    if (mark.of == Mark::Of::x) x.take(curves.x, mark.at);
    if (mark.of == Mark::Of::y) y.take(curves.y, mark.at);
  }
  const double top = below_heading(figure) + kLineHeight + 6.0;
  const double names = widest_name(curves);
  const Box box{62.0, top, kPictureWidth - kMargin - 6.0 - (names > 0.0 ? names + kNameGap : 0.0), top + kPlotHeight};
  return {box, projection(curves.x, x, false, box.left, box.right), projection(curves.y, y, true, box.bottom, box.top)};
}

// ---- drawing ----

// Lines across for y, whose values are read off; short ticks for x.
void draw_axes(Svg& svg, const Figure& figure, const Curves& curves, const Plane& plane) {
  const Box& box = plane.box;
  for (const Tick& tick : ticks_of(curves.y, plane.y)) {
    const double y = plane.y(tick.value);
    svg.line(box.left, y, box.right, y, "grid");
    svg.text(box.left - 7.0, y + 4.0, Anchor::end, "ink", tick.label);
  }
  for (const Tick& tick : ticks_of(curves.x, plane.x)) {
    const double x = plane.x(tick.value);
    svg.line(x, box.bottom, x, box.bottom + 4.0, "axis");
    svg.text(x, box.bottom + 17.0, Anchor::middle, "ink", tick.label);
  }
  svg.line(box.left, box.bottom, box.right, box.bottom, "axis");
  svg.text(kMargin, below_heading(figure) + 8.0, Anchor::start, "soft", curves.y.label);
  svg.text((box.left + box.right) / 2.0, box.bottom + 37.0, Anchor::middle, "soft", curves.x.label);
}

// Dashed lines with their names; of a vertical one it goes to the left where the right has no room for it.
void draw_marks(Svg& svg, const Curves& curves, const Plane& plane) {
  const Box& box = plane.box;
  // Where the names of each line of text end; a name goes to the first line that has room for it.
  std::vector<double> ends;
  for (const Mark& mark : curves.marks) {
    if (mark.of == Mark::Of::x) {
      const double x = plane.x(mark.at);
      svg.line(x, box.top, x, box.bottom, "mark d");
      const bool left = x + text_width(mark.name) + 6.0 > box.right;
      const double from = left ? x - 6.0 - text_width(mark.name) : x + 6.0;
      const auto line = std::find_if(ends.begin(), ends.end(), [&](double end) { return end + 6.0 < from; });
      const auto down = static_cast<double>(line - ends.begin());
      if (line == ends.end()) ends.push_back(0.0);
      ends[static_cast<std::size_t>(down)] = from + text_width(mark.name);
      svg.text(left ? x - 6.0 : x + 6.0, box.top + 11.0 + down * kNameSpace, left ? Anchor::end : Anchor::start, "soft",
               mark.name);
    } else {
      const double y = plane.y(mark.at);
      svg.line(box.left, y, box.right, y, "mark d");
      svg.text(box.left + 6.0, y - 5.0, Anchor::start, "soft", mark.name);
    }
  }
}

// Absolute coordinates to a tenth of a pixel; points that would fall on the last one are left out.
class Line {
 public:
  void to(double x, double y) {
    const std::string at = formatted("{} {}", tenth(x), tenth(y));
    if (at == last_) return;
    data_ += (down_ ? "L" : "M") + at;
    last_ = at;
    down_ = true;
  }
  void lift() {
    down_ = false;
    last_.clear();
  }
  const std::string& data() const { return data_; }

 private:
  static std::string tenth(double value) { return coordinate(std::round(value * 10.0) / 10.0); }

  std::string data_;
  std::string last_;
  bool down_ = false;
};

// The data of a path. Steps go along at the old height up to a point's x, and then to its y.
std::string line_data(const Curves& curves, const Curve& curve, const Plane& plane) {
  Line line;
  double height = 0.0;
  bool first = true;
  for (const Point& point : curve.points) {
    if (!shown(curves.x, point.x) || !shown(curves.y, point.y)) {
      line.lift();
      first = true;
      continue;
    }
    const double x = plane.x(point.x);
    const double y = plane.y(point.y);
    if (curve.style == CurveStyle::steps && !first) line.to(x, height);
    line.to(x, y);
    height = y;
    first = false;
  }
  return line.data();
}

// A scale of colours for curves that are steps of one thing, else colours that are told apart, in turn.
Colour colour_of(const Curves& curves, std::int64_t index) {
  if (!curves.ordered) return line_colour(index);
  const std::int64_t last = std::ssize(curves.curves) - 1;
  return ordered_line_colour(last == 0 ? 1.0 : static_cast<double>(index) / static_cast<double>(last));
}

// Class sN is the stroke of curve N, fN its fill: of dots here, and of the name in draw().
void draw_curve(Svg& svg, const Curves& curves, std::int64_t index, const Plane& plane) {
  const Curve& curve = curves.curves[static_cast<std::size_t>(index)];
  const std::string name = formatted("s{}", index);
  if (curve.style == CurveStyle::dots) {
    svg.fill(formatted("f{}", index), colour_of(curves, index));
    for (const Point& point : curve.points) {
      if (!shown(curves.x, point.x) || !shown(curves.y, point.y)) continue;
      svg.add(formatted("<circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>\n", index, coordinate(plane.x(point.x)),
                        coordinate(plane.y(point.y))));
    }
    return;
  }
  svg.stroke(name, colour_of(curves, index));
  // Where colours come again, and where it is asked for.
  const bool dashed = curve.style == CurveStyle::dashes || (!curves.ordered && index >= kLineColours);
  const std::int64_t behind = curves.nested ? std::ssize(curves.curves) - 1 - index : 0;
  // Wider than the ones on it by 2 pixels on each side.
  const std::string width = behind == 0 ? "" : formatted(" style=\"stroke-width:{}\"", 2 + 4 * behind);
  svg.add(formatted("<path class=\"w {}{}\"{} d=\"{}\"/>\n", name, dashed ? " d" : "", width,
                    line_data(curves, curve, plane)));
}

// ---- names of curves ----

struct EndName {
  std::int64_t curve = 0;
  double y = 0.0;
};

// The height of the last point that is shown; the bottom where there is none.
double end_of(const Curves& curves, const Curve& curve, const Plane& plane) {
  for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point) {
    if (shown(curves.x, point->x) && shown(curves.y, point->y)) return plane.y(point->y);
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
    if (!curve.name.empty()) names.push_back({i, end_of(curves, curve, plane)});
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
    if (!curve.name.empty()) names.push_back(curve.name);
  }
  return formatted("{} by {}, from {} to {}{}.", curves.y.label, curves.x.label, number(plane.x.low, 3),
                   number(plane.x.high, 3), names.empty() ? "" : "; curves: " + join(names, ", "));
}

}  // namespace

std::string draw(const Figure& figure, const Curves& curves) {
  const Plane plane = plane_of(figure, curves);
  Svg svg = with_heading(figure, plane.box.bottom + 37.0 + kMargin, summary_of(curves, plane));
  draw_axes(svg, figure, curves, plane);
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
