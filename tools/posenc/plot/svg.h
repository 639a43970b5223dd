// A picture as SVG text: 600 units wide, without script, font or anything else from outside. One style sheet holds the
// colours for light and for dark surroundings (CSS prefers-color-scheme); elements name them by class. The same calls
// give the same bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "plot/palette.h"

namespace posenc::tool {

inline constexpr double kPictureWidth = 600.0;  // CSS pixels, unless who shows it scales it
inline constexpr double kFontSize = 13.0;
inline constexpr double kSmallFontSize = 12.0;  // the smallest that is legible at this width

// At most two decimals: a hundredth of a pixel.
// 10.50 becomes 10.5; what rounds to -0 becomes 0.
std::string coordinate(double value);
// With &, <, > and quotes escaped.
// Control characters and broken UTF-8 are made visible first (printable, line/text.h).
std::string escaped(std::string_view text);
// Of text in the small or the normal size, roughly: fonts differ.
double text_width(std::string_view text, double font_size = kSmallFontSize);

// Which part of a text stands at its x.
enum class Anchor : std::uint8_t { start, middle, end };

// Collects elements in the order of the calls. The style sheet is written last, when all classes are known, and stands
// before the elements.
class Svg {
 public:
  // `title` and `description` are what a screen reader says.
  Svg(double height, std::string_view title, std::string_view description);

  // A rule of the style sheet: elements of class `name` have this fill, or this stroke.
  void fill(std::string_view name, const Colour& colour);
  void stroke(std::string_view name, const Colour& colour);

  // An element, complete.
  void add(std::string_view element) { body_ += element; }
  // Classes of the style sheet: ink and soft, of text; axis and grid, of lines.
  void text(double x, double y, Anchor anchor, std::string_view classes, std::string_view text);
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rectangle(double x, double y, double width, double height, std::string_view classes);

  // The whole file.
  std::string finished() const;

 private:
  void rule(std::string_view property, std::string_view name, const Colour& colour);

  std::string head_;
  std::map<std::string, std::string, std::less<>> light_;  // selector -> declaration
  std::map<std::string, std::string, std::less<>> dark_;
  std::string body_;
};

}  // namespace posenc::tool
