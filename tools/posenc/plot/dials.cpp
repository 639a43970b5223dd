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
// it the name of one that points down, and the note.
constexpr std::int64_t kPerRow = 4;
constexpr double kSide = (kPictureWidth - 2 * kMargin) / static_cast<double>(kPerRow);
constexpr double kRadius = 46.0;
constexpr double kNameAt = 1.24;     // of a hand, in radii: outside the rim
constexpr double kNameWidth = 30.0;  // of several hands; from the rim to the column's edge
constexpr double kAboveRim = 56.0;
constexpr double kNoteAt = 36.0;  // its baseline below the rim
constexpr double kRowHeight = kAboveRim + 2 * kRadius + kNoteAt + 16.0;

// From the first to the last.
Colour hand_colour(std::int64_t i, std::int64_t hands) {
  return ordered_line_colour(hands < 2 ? 1.0 : static_cast<double>(i) / static_cast<double>(hands - 1));
}

// `top` is that of the dial's row. Hands are drawn in their order, so a later one lies on an earlier one.
void draw_dial(Svg& svg, const Dial& dial, double centre_x, double top) {
  const double centre_y = top + kAboveRim + kRadius;
  svg.text(centre_x, top + 14.0, Anchor::middle, "b ink", dial.name);
  svg.text(centre_x, top + 30.0, Anchor::middle, "soft", dial.detail);
  svg.text(centre_x, centre_y + kRadius + kNoteAt, Anchor::middle, "soft", dial.note);
  svg.add(formatted("<circle class=\"grid\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", coordinate(centre_x),
                    coordinate(centre_y), coordinate(kRadius)));
  for (std::int64_t i = 0; i < std::ssize(dial.hands); ++i) {
    const Hand& hand = dial.hands[static_cast<std::size_t>(i)];
    // The first channel to the right, the second upwards: a positive angle rotates counter-clockwise.
    const double x = centre_x + kRadius * hand.a;
    const double y = centre_y - kRadius * hand.b;
    const Colour colour = hand_colour(i, std::ssize(dial.hands));
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

// ---- many hands: a legend instead of names ----

// Whether names beside the hands would lie on each other or on the next dial's: more than a dozen around a rim, or four
// digits.
bool crowded(const Dials& dials) {
  constexpr std::int64_t kMostHands = 12;
  constexpr double kWidestName = 25.0;
  return std::any_of(dials.dials.begin(), dials.dials.end(), [&](const Dial& dial) {
    return std::ssize(dial.hands) > kMostHands ||
           std::any_of(dial.hands.begin(), dial.hands.end(),
                       [&](const Hand& hand) { return text_width(hand.name) > kWidestName; });
  });
}

// A dot and a name for each hand, in as many lines as they take; returns how far the last baseline is below the first.
// Without a picture it is measured and not drawn.
double legend(Svg* svg, const Dial& dial, double first_baseline) {
  double widest = 0.0;
  for (const Hand& hand : dial.hands) widest = std::max(widest, text_width(hand.name));
  const double step = widest + 24.0;  // dot, name and a gap
  const auto per_line = static_cast<std::int64_t>((kPictureWidth - 2 * kMargin) / step);
  double down = 0.0;
  for (std::int64_t i = 0; i < std::ssize(dial.hands); ++i) {
    const std::int64_t line = i / per_line;
    down = kLineHeight * static_cast<double>(line);
    if (svg == nullptr) continue;
    const double x = kMargin + step * static_cast<double>(i % per_line);
    svg->fill(formatted("f{}", i), hand_colour(i, std::ssize(dial.hands)));
    svg->add(formatted("<circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>\n", i, coordinate(x + 4.0),
                       coordinate(first_baseline + down - 4.0)));
    svg->text(x + 12.0, first_baseline + down, Anchor::start, "ink", dial.hands[static_cast<std::size_t>(i)].name);
  }
  return down;
}

// For screen readers.
std::string summary_of(const Dials& dials) {
  std::vector<std::string> names;
  for (const Dial& dial : dials.dials) names.push_back(formatted("{} ({}, {})", dial.name, dial.detail, dial.note));
  return formatted("{}: {}.", count(std::ssize(dials.dials), "dial"), join(names, ", "));
}

}  // namespace

std::string draw(const Figure& figure, const Dials& dials) {
  const bool with_legend = crowded(dials);
  const double legend_at = below_heading(figure) + 6.0;  // its first baseline
  const double top =
      below_heading(figure) + (with_legend ? legend(nullptr, dials.dials.front(), legend_at) + 2 * kLineHeight : 0.0);
  const std::int64_t rows = (std::ssize(dials.dials) + kPerRow - 1) / kPerRow;
  Svg svg = with_heading(figure, top + kRowHeight * static_cast<double>(rows) + kMargin, summary_of(dials));
  if (with_legend) legend(&svg, dials.dials.front(), legend_at);
  for (std::int64_t i = 0; i < std::ssize(dials.dials); ++i) {
    const Dial& dial = dials.dials[static_cast<std::size_t>(i)];
    const double centre_x = kMargin + (static_cast<double>(i % kPerRow) + 0.5) * kSide;
    const std::int64_t row = i / kPerRow;
    const double row_top = top + kRowHeight * static_cast<double>(row);
    draw_dial(svg, dial, centre_x, row_top);
    if (!with_legend) draw_names(svg, dial, centre_x, row_top + kAboveRim + kRadius);
  }
  return svg.finished();
}

}  // namespace posenc::tool
