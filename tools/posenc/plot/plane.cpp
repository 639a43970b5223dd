// Numbers to pixels, and what all planes draw alike.
#include "plot/plane.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr double kLargestDrawn = std::numeric_limits<double>::max();
constexpr double kSmallestDrawn = std::numeric_limits<double>::denorm_min();  // on a logarithmic axis

bool has_place(const Scale& scale, double value) { return std::isfinite(value) && (!scale.logarithmic || value > 0.0); }

std::vector<Tick> ticks_of(const Scale& scale, const Projection& at, double apart) {
  const int most = std::max(2, static_cast<int>(std::fabs(at.to - at.from) / apart));
  if (scale.logarithmic) return log_ticks(at.low, at.high, most);
  return scale.whole ? whole_ticks(at.low, at.high, most) : linear_ticks(at.low, at.high, most);
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
    if (!shown(curves, point)) {
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

}  // namespace

double Projection::operator()(double value) const {
  // A length that overflows is measured in a power of two that exceeds a picture's pixels.
  const double unit = logarithmic || std::isfinite((to - from) * (high - low)) ? 1.0 : 0x1p-12;
  const auto in = [&](double v) { return logarithmic ? std::log10(v) : unit * v; };
  return from + (to - from) * (in(value)-in(low)) / (in(high)-in(low));
}

void Extent::take(const Scale& scale, double value) {
  if (!has_place(scale, value)) return;
  least = std::min(least, value);
  most = std::max(most, value);
}

bool shown(const Curves& curves, const Point& point) {
  return has_place(curves.x, point.x) && has_place(curves.y, point.y);
}

Extents extents_of(const Curves& curves) {
  Extents all;
  for (const Curve& curve : curves.curves) {
    for (const Point& point : curve.points) {
      if (!shown(curves, point)) continue;
      all.x.take(curves.x, point.x);
      all.y.take(curves.y, point.y);
    }
  }
  for (const Mark& mark : curves.marks) {
    if (mark.of == Mark::Of::x) all.x.take(curves.x, mark.at);
    if (mark.of == Mark::Of::y) all.y.take(curves.y, mark.at);
  }
  return all;
}

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

void draw_grid(Svg& svg, const Scale& y, const Plane& plane, double apart) {
  for (const Tick& tick : ticks_of(y, plane.y, apart)) {
    const double at = plane.y(tick.value);
    svg.line(plane.box.left, at, plane.box.right, at, "grid");
    svg.text(plane.box.left - 7.0, at + 4.0, Anchor::end, "ink", tick.label);
  }
}

void draw_x_axis(Svg& svg, const Scale& x, const Plane& plane) {
  const Box& box = plane.box;
  constexpr double kApart = 55.0;  // a label of seven characters (text_width: 7 each) and a gap
  for (const Tick& tick : ticks_of(x, plane.x, kApart)) {
    const double at = plane.x(tick.value);
    svg.line(at, box.bottom, at, box.bottom + 4.0, "axis");
    svg.text(at, box.bottom + 17.0, Anchor::middle, "ink", tick.label);
  }
  svg.line(box.left, box.bottom, box.right, box.bottom, "axis");
  svg.text((box.left + box.right) / 2.0, box.bottom + 37.0, Anchor::middle, "soft", x.label);
}

Colour colour_of(const Curves& curves, std::int64_t index) {
  if (!curves.ordered) return line_colour(index);
  const std::int64_t last = std::ssize(curves.curves) - 1;
  return ordered_line_colour(last == 0 ? 1.0 : static_cast<double>(index) / static_cast<double>(last));
}

void draw_curve(Svg& svg, const Curves& curves, std::int64_t index, const Plane& plane) {
  const Curve& curve = curves.curves[static_cast<std::size_t>(index)];
  if (curve.style == CurveStyle::dots) {
    svg.fill(formatted("f{}", index), colour_of(curves, index));
    for (const Point& point : curve.points) {
      if (!shown(curves, point)) continue;
      draw_dot(svg, index, plane.x(point.x), plane.y(point.y));
    }
    return;
  }
  svg.stroke(formatted("s{}", index), colour_of(curves, index));
  // Where colours come again, and where it is asked for.
  const bool dashed = curve.style == CurveStyle::dashes || (!curves.ordered && index >= kLineColours);
  svg.add(
      formatted("<path class=\"w s{}{}\" d=\"{}\"/>\n", index, dashed ? " d" : "", line_data(curves, curve, plane)));
}

void draw_dot(Svg& svg, std::int64_t index, double x, double y) {
  const std::string at_x = coordinate(x);
  const std::string at_y = coordinate(y);
  switch (index % kDotShapes) {
    case 0: svg.add(formatted("<circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>\n", index, at_x, at_y)); return;
    case 1:  // a diamond of the circle's area and half as much again, as its corners look small
      svg.add(formatted("<path class=\"f{}\" d=\"M{} {}l3.5 3.5l-3.5 3.5l-3.5-3.5z\"/>\n", index, at_x,
                        coordinate(y - 3.5)));
      return;
    case 2:  // a square
      svg.add(
          formatted("<path class=\"f{}\" d=\"M{} {}h5v5h-5z\"/>\n", index, coordinate(x - 2.5), coordinate(y - 2.5)));
      return;
    default:  // a triangle
      svg.add(formatted("<path class=\"f{}\" d=\"M{} {}l3.5 6h-7z\"/>\n", index, at_x, coordinate(y - 4.0)));
  }
}

std::vector<MarkName> mark_names(const Curves& curves, const Plane& plane) {
  std::vector<double> ends;  // of the names on each line of text
  std::vector<MarkName> out;
  for (const Mark& mark : curves.marks) {
    if (mark.of != Mark::Of::x) {
      out.emplace_back();
      continue;
    }
    const double x = plane.x(mark.at);
    const double width = text_width(mark.name);
    const bool left = x + width + 6.0 > plane.box.right;
    const double from = left ? x - 6.0 - width : x + 6.0;
    const auto line = std::find_if(ends.begin(), ends.end(), [&](double end) { return end + 6.0 < from; });
    out.push_back({x, left ? Anchor::end : Anchor::start, line - ends.begin(), from, from + width});
    if (line == ends.end()) ends.push_back(0.0);
    ends[static_cast<std::size_t>(out.back().line)] = out.back().to;
  }
  return out;
}

}  // namespace posenc::tool
