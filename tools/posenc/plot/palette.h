// Colours for values and for lines, each for a light and for a dark background.
//
// They are points of OKLCH (lightness, chroma, hue: Ottosson 2020, bottosson.github.io/posts/oklab), in which equal
// steps look equal. A scale of values goes in equal steps from the background's neighbour away from it, so that what is
// far from zero stands out on either background, and its lightness alone says the value to eyes that see few hues.
#pragma once

#include <cstdint>
#include <string>

namespace posenc::tool {

struct Colour {
  std::string light;  // "#rrggbb", on a light background
  std::string dark;
};

// From 0, least, to 1, most.
Colour rising_colour(double amount);
// From -1, blue, over 0, which is nearly the background, to 1, orange.
Colour signed_colour(double amount);
// For lines and text that must be told apart: `index` is taken modulo kLineColours.
inline constexpr std::int64_t kLineColours = 6;
Colour line_colour(std::int64_t index);
// For lines that have an order, from 0 to 1: of rising_colour those that can be seen as a line.
Colour ordered_line_colour(double amount);

}  // namespace posenc::tool
