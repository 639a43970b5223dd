// Dials: a pair of channels is a hand of a clock; where it points at several positions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/draw.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kPerRow = 4;
constexpr double kSide = (kPictureWidth - 2 * kMargin) / static_cast<double>(kPerRow);
constexpr double kRadius = 46.0;
constexpr double kNameAt = 1.24;  // of a hand, in radii: outside the rim
constexpr double kAboveRim = 56.0;
constexpr double kRowHeight = kAboveRim + 2 * kRadius + 20.0;

void draw_dial(Svg& svg, const Dial& dial, double centre_x, double top) {
  const double centre_y = top + kAboveRim + kRadius;
  svg.text(centre_x, top + 14.0, Anchor::middle, "b ink", dial.name);
  svg.text(centre_x, top + 30.0, Anchor::middle, "soft", dial.detail);
  svg.add(formatted("<circle class=\"grid\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", coordinate(centre_x),
                    coordinate(centre_y), coordinate(kRadius)));
  for (std::int64_t i = 0; i < std::ssize(dial.hands); ++i) {
    const Hand& hand = dial.hands[static_cast<std::size_t>(i)];
    // The first channel to the right, the second upwards: a positive angle rotates counter-clockwise.
    const double x = centre_x + kRadius * hand.a;
    const double y = centre_y - kRadius * hand.b;
    const double along =
        dial.hands.size() < 2 ? 1.0 : static_cast<double>(i) / static_cast<double>(dial.hands.size() - 1);
    const Colour colour = ordered_line_colour(along);
    svg.stroke(formatted("s{}", i), colour);
    svg.fill(formatted("f{}", i), colour);
    svg.add(formatted("<path class=\"w s{}\" d=\"M{} {}L{} {}\"/><circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"3\"/>\n",
                      i, coordinate(centre_x), coordinate(centre_y), coordinate(x), coordinate(y), i, coordinate(x),
                      coordinate(y)));
  }
}

// Beside their hands; a name that would lie on an earlier one is left out.
void draw_names(Svg& svg, const Dial& dial, double centre_x, double centre_y) {
  std::vector<Point> taken;
  for (const Hand& hand : dial.hands) {
    const Point at{centre_x + kNameAt * kRadius * hand.a, centre_y - kNameAt * kRadius * hand.b};
    const bool free = std::none_of(taken.begin(), taken.end(), [&](const Point& other) {
      return std::fabs(at.x - other.x) < text_width(hand.name) + 3.0 && std::fabs(at.y - other.y) < 11.0;
    });
    if (!free || hand.name.empty()) continue;
    taken.push_back(at);
    svg.text(at.x, at.y + 4.0, Anchor::middle, "ink", hand.name);
  }
}

std::string summary_of(const Dials& dials) {
  std::vector<std::string> names;
  for (const Dial& dial : dials.dials) names.push_back(formatted("{} ({})", dial.name, dial.detail));
  return formatted("{}: {}.", count(std::ssize(dials.dials), "dial"), join(names, ", "));
}

}  // namespace

std::string draw(const Figure& figure, const Dials& dials) {
  const double top = below_heading(figure);
  const std::int64_t rows = (std::ssize(dials.dials) + kPerRow - 1) / kPerRow;
  Svg svg = with_heading(figure, top + kRowHeight * static_cast<double>(rows) + kMargin, summary_of(dials));
  for (std::int64_t i = 0; i < std::ssize(dials.dials); ++i) {
    const Dial& dial = dials.dials[static_cast<std::size_t>(i)];
    const double centre_x = kMargin + (static_cast<double>(i % kPerRow) + 0.5) * kSide;
    const double row_top = top + kRowHeight * static_cast<double>(i / kPerRow);
    draw_dial(svg, dial, centre_x, row_top);
    draw_names(svg, dial, centre_x, row_top + kAboveRim + kRadius);
  }
  return svg.finished();
}

}  // namespace posenc::tool
