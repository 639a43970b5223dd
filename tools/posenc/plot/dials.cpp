// Dials: a pair of channels is a hand of a clock; where it points at several positions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/draw.h"

namespace posenc::tool {
namespace {

// Pixels. Four columns of 143; a rim of 92 across leaves 25 on each side for the names of hands, whose middles are 11
// outside it. Above it are two lines of text, with baselines at 14 and 30, and the name of a hand that points up; below
// it 20 for one that points down.
constexpr std::int64_t kPerRow = 4;
constexpr double kSide = (kPictureWidth - 2 * kMargin) / static_cast<double>(kPerRow);
constexpr double kRadius = 46.0;
constexpr double kNameAt = 1.24;     // of a hand, in radii: outside the rim
constexpr double kNameWidth = 30.0;  // of several hands; from the rim to the column's edge
constexpr double kAboveRim = 56.0;
constexpr double kRowHeight = kAboveRim + 2 * kRadius + 20.0;

// `top` is that of the dial's row. Hands are drawn in their order, so a later one lies on an earlier one.
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

// The hands that one text names, by their numbers, and where it stands.
struct HandNames {
  Point at;
  std::vector<std::size_t> hands;
};

// "0", "0-5", "0, 6": hands that follow each other by the first and the last of them.
std::string text_of(const Dial& dial, const std::vector<std::size_t>& hands) {
  std::vector<std::string> parts;
  for (std::size_t n = 0; n < hands.size();) {
    std::size_t last = n;
    while (last + 1 < hands.size() && hands[last + 1] == hands[last] + 1) ++last;
    const std::string& name = dial.hands[hands[n]].name;
    parts.push_back(last == n ? name : formatted("{}-{}", name, dial.hands[hands[last]].name));
    n = last + 1;
  }
  return join(parts, ", ");
}

// Beside their hands; where names would lie on each other, one text names all those hands.
void draw_names(Svg& svg, const Dial& dial, double centre_x, double centre_y) {
  std::vector<HandNames> texts;
  for (std::size_t i = 0; i < dial.hands.size(); ++i) {
    const Hand& hand = dial.hands[i];
    if (hand.name.empty()) continue;
    const Point at{centre_x + kNameAt * kRadius * hand.a, centre_y - kNameAt * kRadius * hand.b};
    const auto near = std::find_if(texts.begin(), texts.end(), [&](const HandNames& other) {
      return std::fabs(at.x - other.at.x) < text_width(hand.name) + 3.0 && std::fabs(at.y - other.at.y) < 11.0;
    });
    if (near == texts.end()) {
      texts.push_back({at, {i}});
    } else {
      near->hands.push_back(i);
    }
  }
  for (const HandNames& one : texts) {
    const std::string& first = dial.hands[one.hands.front()].name;
    // "0+": there is no room for all of them.
    std::string text = text_of(dial, one.hands);
    if (one.hands.size() > 1 && text_width(text) > kNameWidth) text = first + "+";
    // A longer text is moved outwards, so that less of it lies on the rim: not by all of its width, for the sake of the
    // next column's.
    const double outwards = (one.at.x - centre_x) / (kNameAt * kRadius);
    const double x = one.at.x + 0.7 * outwards * std::max(0.0, text_width(text) / 2.0 - 4.0);
    svg.text(x, one.at.y + 4.0, Anchor::middle, "ink", text);
  }
}

// For screen readers.
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
