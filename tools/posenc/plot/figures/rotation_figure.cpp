// posenc plot rotation: pairs of channels as hands of clocks, at several positions.
//
//   (1, 0) -> a (cos(t inv_freq[p]), sin(t inv_freq[p]))        t: start, start + step, ...; a: attention factor
//
// In f32, as rotate() multiplies by them (cos_sin, posenc/rotary_table.h).
#include <algorithm>
#include <cmath>
#include <vector>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/figures.h"
#include "plot/rope_choice.h"
#include "posenc/rotary_table.h"
#include "posenc/wavelength.h"

namespace posenc::tool {
namespace {

// At most `most` of the numbers below `all`, evenly spread, the first and the last among them.
std::vector<std::int64_t> spread(std::int64_t all, std::int64_t most) {
  const std::int64_t shown = std::min(all, most);
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < shown; ++n) out.push_back(shown == 1 ? 0 : n * (all - 1) / (shown - 1));
  return out;
}

// Three digits below 100 positions, whole positions from there on.
std::string period_text(double wavelength) {
  if (!std::isfinite(wavelength)) return "does not rotate";
  return "wavelength " + (wavelength < 100.0 ? number(wavelength, 3) : number(std::round(wavelength)));
}

// How far a pair rotates over so many positions: "5.89 degrees", from two times around on "795.8 turns".
std::string sweep_text(double wavelength, std::int64_t positions) {
  if (!std::isfinite(wavelength)) return "stays";
  const double turns = static_cast<double>(positions) / wavelength;
  return turns < 2.0 ? formatted("{} degrees", number(360.0 * turns, 3)) : formatted("{} turns", number(turns, 4));
}

}  // namespace

Figure figure_of(const RotationPlot& plot) {
  const RopeChoice choice = choose_rope(plot.rope);
  std::vector<std::int64_t> positions;
  for (std::int64_t n = 0; n < plot.positions; ++n) positions.push_back(plot.start + n * plot.step);
  // Of several axes (M-RoPE, patches) a token stands at the same position on each: [axes, positions].
  std::vector<std::int64_t> on_all_axes;
  for (std::size_t axis = 0; axis < choice.rope.axes.names.size(); ++axis) {
    on_all_axes.insert(on_all_axes.end(), positions.begin(), positions.end());
  }
  const CosSin rotated = cos_sin(choice.rope, on_all_axes, {.length = choice.length});
  // How many pairs complete a period within the trained length, here 1, is not drawn.
  const Wavelengths found = wavelengths(choice.rope, 1, choice.length);
  Dials dials;
  for (const std::int64_t p : spread(choice.rope.pairs(), plot.pairs)) {
    Dial dial{.name = formatted("pair {}", p),
              .detail = period_text(found.wavelength[static_cast<std::size_t>(p)]),
              .note = sweep_text(found.wavelength[static_cast<std::size_t>(p)], positions.back() - positions.front()),
              .hands = {}};
    for (std::size_t n = 0; n < positions.size(); ++n) {
      const std::size_t at = n * static_cast<std::size_t>(rotated.pairs) + static_cast<std::size_t>(p);
      dial.hands.push_back({.name = std::to_string(positions[n]), .a = rotated.cos[at], .b = rotated.sin[at]});
    }
    dials.dials.push_back(std::move(dial));
  }
  return {
      .title = "RoPE: where pairs of channels point, by position",
      .detail = formatted("{}. Hands: where (1, 0) of a pair points at positions {} to {}. Below: how far it rotates "
                          "from the first to the last",
                          detail_at_length(choice), positions.front(), positions.back()),
      .content = dials};
}

}  // namespace posenc::tool
