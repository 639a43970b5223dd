// SVG text. What a caller passes to add() it has escaped itself; text() escapes what it is given.
#include "plot/svg.h"

#include <cmath>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

// Paper and ink are GitHub's, so that a picture lies on its pages without an edge.
// Classes: t title, b bold, w the stroke of a curve or a hand, d dashed, c cells (without antialiasing, which would
// show seams between them), none where there is no number (the pattern `hatch` of heat_maps.cpp); paper, the
// background; ink and soft, text; axis, grid and mark, lines. Colours of values and of curves are added by fill() and
// stroke().
constexpr std::string_view kFixedStyle =
    "text{font:12px system-ui,'DejaVu Sans',sans-serif}"
    ".t{font-size:15px;font-weight:600}"
    ".b{font-weight:600}"
    "path,line,circle,polyline{fill:none}"
    ".w{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".d{stroke-dasharray:5 4}"
    ".c{shape-rendering:crispEdges}"
    ".none{fill:url(#hatch)}";
constexpr std::string_view kLightStyle =
    ".paper{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.axis{stroke:#818b98}.grid{stroke:#d8dee4}"
    ".mark{stroke:#59636e}";
constexpr std::string_view kDarkStyle =
    ".paper{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.axis{stroke:#6e7681}.grid{stroke:#2a313a}"
    ".mark{stroke:#9198a1}";

std::string_view anchor_attribute(Anchor anchor) {
  switch (anchor) {
    case Anchor::start: return "";
    case Anchor::middle: return " text-anchor=\"middle\"";
    case Anchor::end: return " text-anchor=\"end\"";
  }
  return "";
}

std::string rules_text(const std::map<std::string, std::string, std::less<>>& rules) {
  std::string out;
  for (const auto& [selector, declaration] : rules) out += formatted(".{}{{{}}}", selector, declaration);
  return out;
}

}  // namespace

std::string coordinate(double value) {
  std::string text = formatted("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

double text_width(std::string_view text, double font_size) {
  constexpr double kAverageAdvance = 0.58;  // of the font's size, for DejaVu Sans, which is wide
  return kAverageAdvance * font_size * static_cast<double>(columns(text));
}

// role and aria-labelledby have screen readers take the picture as one image with these words.
Svg::Svg(double height, std::string_view title, std::string_view description)
    : head_(formatted("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
                      "role=\"img\" aria-labelledby=\"title description\">\n"
                      "<title id=\"title\">{2}</title>\n<desc id=\"description\">{3}</desc>\n",
                      coordinate(kPictureWidth), coordinate(height), escaped(title), escaped(description))) {
  rectangle(0, 0, kPictureWidth, height, "paper");
}

// Maps of one figure share classes: the same rule comes once for each map.
void Svg::rule(std::string_view property, std::string_view name, const Colour& colour) {
  light_.insert_or_assign(std::string(name), formatted("{}:{}", property, colour.light));
  dark_.insert_or_assign(std::string(name), formatted("{}:{}", property, colour.dark));
}

void Svg::fill(std::string_view name, const Colour& colour) { rule("fill", name, colour); }
void Svg::stroke(std::string_view name, const Colour& colour) { rule("stroke", name, colour); }

void Svg::text(double x, double y, Anchor anchor, std::string_view classes, std::string_view text) {
  body_ += formatted("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", classes, coordinate(x), coordinate(y),
                     anchor_attribute(anchor), escaped(text));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ += formatted("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", classes, coordinate(x1), coordinate(y1),
                     coordinate(x2), coordinate(y2));
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view classes) {
  body_ += formatted("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", classes, coordinate(x),
                     coordinate(y), coordinate(width), coordinate(height));
}

// The rules for dark pages stand last: where both apply, CSS takes the later one.
std::string Svg::finished() const {
  return formatted("{}<style>{}\n{}{}\n@media(prefers-color-scheme:dark){{{}{}}}</style>\n{}</svg>\n", head_,
                   kFixedStyle, kLightStyle, rules_text(light_), kDarkStyle, rules_text(dark_), body_);
}

}  // namespace posenc::tool
