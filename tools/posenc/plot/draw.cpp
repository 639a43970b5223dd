// The heading that all pictures have, and the choice of what draws the rest.
#include "plot/draw.h"

#include <vector>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// From the top: the title, in 15 pixels (svg.cpp, class t), and 19 below it the first line of the detail.
constexpr double kTitleBaseline = 26.0;
constexpr double kDetailBaseline = 45.0;

// What fits the width in the small size.
// wrap() counts columns: the width in letters of the average advance, (600 - 2 * 14) / (0.58 * 12) = 82 of them.
std::vector<std::string> detail_lines(const Figure& figure) {
  if (figure.detail.empty()) return {};
  const double of_one = text_width("0");
  return wrap(figure.detail, static_cast<std::int64_t>((kPictureWidth - 2 * kMargin) / of_one));
}

}  // namespace

// 13 below the last baseline of the detail, 45 + 16 (lines - 1); 16 below the title where there is no detail.
double below_heading(const Figure& figure) {
  return kTitleBaseline + kLineHeight * static_cast<double>(detail_lines(figure).size()) + 16.0;
}

Svg with_heading(const Figure& figure, double height, const std::string& summary) {
  // What a screen reader says after the title.
  const std::string detail = figure.detail.empty() ? "" : figure.detail + ". ";
  Svg svg(height, figure.title, detail + summary);
  svg.text(kMargin, kTitleBaseline, Anchor::start, "t ink", figure.title);
  double y = kDetailBaseline;
  for (const std::string& line : detail_lines(figure)) {
    svg.text(kMargin, y, Anchor::start, "soft", line);
    y += kLineHeight;
  }
  return svg;
}

std::string svg_of(const Figure& figure) {
  return std::visit([&](const auto& content) { return draw(figure, content); }, figure.content);
}

}  // namespace posenc::tool
