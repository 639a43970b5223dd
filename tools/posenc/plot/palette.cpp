// OKLCH to sRGB: to linear light by Ottosson's matrices, chroma reduced until sRGB has the colour, then encoded.
#include "plot/palette.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "line/formatted.h"

namespace posenc::tool {
namespace {

struct Oklch {
  double lightness;  // 0 black to 1 white
  double chroma;     // 0 grey; sRGB ends between 0.12 and 0.32
  double hue;        // degrees
};

struct LinearRgb {
  double red, green, blue;  // sRGB holds 0 to 1
};

// The matrices are Ottosson's, in his digits.
LinearRgb linear_rgb(const Oklch& colour) {
  const double radians = colour.hue * std::numbers::pi / 180.0;
  const double a = colour.chroma * std::cos(radians);
  const double b = colour.chroma * std::sin(radians);
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(colour.lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(colour.lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(colour.lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool displayable(const LinearRgb& c) {
  const auto [least, most] = std::minmax({c.red, c.green, c.blue});
  return least >= 0.0 && most <= 1.0;
}

// The same lightness and hue with as much of the chroma as sRGB has.
Oklch within_srgb(Oklch colour) {
  constexpr double kStep = 0.002;  // far below what an eye tells apart, about 0.02
  while (colour.chroma > 0.0 && !displayable(linear_rgb(colour))) colour.chroma = std::max(0.0, colour.chroma - kStep);
  return colour;
}

// IEC 61966-2-1.
int srgb_byte(double linear) {
  const double encoded = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1.0 / 2.4) - 0.055;
  return static_cast<int>(std::lround(255.0 * std::clamp(encoded, 0.0, 1.0)));
}

std::string hex(const Oklch& colour) {
  const LinearRgb c = linear_rgb(within_srgb(colour));
  return formatted("#{:02x}{:02x}{:02x}", srgb_byte(c.red), srgb_byte(c.green), srgb_byte(c.blue));
}

double between(double from, double to, double part) { return from + (to - from) * part; }

}  // namespace

Colour rising_colour(double amount) {
  // From pale yellow over green to deep blue; on a dark background from deep blue over green to yellow.
  // Chroma is 0.06 at both ends, the lightest and the darkest, of which sRGB has little, and 0.14 in the middle.
  const double chroma = 0.03 + 0.11 * std::sin(std::numbers::pi * between(0.1, 0.9, amount));
  return {hex({between(0.97, 0.33, amount), chroma, between(105.0, 270.0, amount)}),
          hex({between(0.23, 0.93, amount), chroma, between(270.0, 105.0, amount)})};
}

Colour signed_colour(double amount) {
  // Chroma and the distance from the background's lightness grow together, so that 0 is a grey next to it.
  const double size = std::fabs(amount);
  const double hue = amount < 0.0 ? 255.0 : 50.0;
  return {hex({between(0.975, 0.52, size), 0.17 * size, hue}), hex({between(0.22, 0.80, size), 0.16 * size, hue})};
}

Colour line_colour(std::int64_t index) {
  // Neighbours differ in hue by 90 degrees or more, and in lightness.
  constexpr std::array<double, kLineColours> kHues{255.0, 45.0, 150.0, 330.0, 205.0, 90.0};
  constexpr std::array<double, kLineColours> kLighter{0.0, 0.06, -0.04, 0.02, 0.08, -0.02};
  const auto i = static_cast<std::size_t>(index % kLineColours);
  return {hex({0.53 + kLighter[i], 0.16, kHues[i]}), hex({0.74 + kLighter[i], 0.14, kHues[i]})};
}

// From 0.5 on a line and its name are three times as light or as dark as the background (WCAG 2.2, 1.4.11): the
// first has a contrast of 3.06 with white and of 4.65 with the dark paper.
Colour ordered_line_colour(double amount) { return rising_colour(between(0.5, 1.0, amount)); }

}  // namespace posenc::tool
