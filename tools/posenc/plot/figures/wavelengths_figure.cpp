// posenc plot wavelengths: the wavelength of each pair, in positions, against the trained length.
#include <algorithm>
#include <cmath>

#include "line/command_line.h"
#include "line/formatted.h"
#include "line/text.h"
#include "plot/figures.h"
#include "plot/rope_choice.h"
#include "posenc/wavelength.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kUntrained = 1;  // a length within which no pair completes a period: all are drawn alike

}  // namespace

Figure figure_of(const WavelengthsPlot& plot) {
  const RopeChoice choice = choose_rope(plot.rope);
  const Wavelengths found = wavelengths(choice.rope, choice.trained.value_or(kUntrained), choice.length);
  Curve turning{.name = choice.trained ? "complete a period" : "", .points = {}, .style = CurveStyle::dots};
  Curve never{.name = "complete none", .points = {}, .style = CurveStyle::dots};
  for (std::int64_t p = 0; p < std::ssize(found.wavelength); ++p) {
    const double wavelength = found.wavelength[static_cast<std::size_t>(p)];
    const bool complete = !choice.trained || wavelength <= static_cast<double>(*choice.trained);
    (complete ? turning : never).points.push_back({static_cast<double>(p), wavelength});
  }
  Curves curves{.x = {.label = "pair of channels, the fastest first", .whole = true},
                .y = {.label = "wavelength (positions per period)", .logarithmic = true}};
  for (Curve* const curve : {&turning, &never}) {
    if (!curve->points.empty()) curves.curves.push_back(std::move(*curve));
  }
  std::string detail = detail_at_length(choice);
  if (choice.trained) {
    curves.marks.push_back({.name = formatted("trained length {}", *choice.trained),
                            .at = static_cast<double>(*choice.trained),
                            .of = Mark::Of::y});
    detail += formatted("; {} of {} pairs do not complete a period within {} tokens", found.incomplete_pairs,
                        found.wavelength.size(), *choice.trained);
  }
  return {.title = "Wavelengths of RoPE, by pair", .detail = detail, .content = curves};
}

}  // namespace posenc::tool
