#include "plot/draw.h"

#include <vector>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr double kTitleBaseline = 26.0;
constexpr double kDetailBaseline = 45.0;

// What fits the width in the small size.
std::vector<std::string> detail_lines(const Figure& figure) {
  if (figure.detail.empty()) return {};
  const double of_one = text_width("0");
  return wrap(figure.detail, static_cast<std::int64_t>((kPictureWidth - 2 * kMargin) / of_one));
}

}  // namespace

double below_heading(const Figure& figure) {
  return kTitleBaseline + kLineHeight * static_cast<double>(detail_lines(figure).size()) + 16.0;
}

Svg with_heading(const Figure& figure, double height, const std::string& summary) {
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
