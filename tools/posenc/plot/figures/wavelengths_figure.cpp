// posenc plot wavelengths: the wavelength of each pair, in positions, against the trained length.
//
//   wavelength[p] = 2 pi / |inv_freq[p]|        a dot for each pair; a pair that is not rotated has none
//
// A pair with a longer wavelength than the trained length has not been through all its angles in training. Where that
// length is known it is a line across, and each kind of pair has a colour. Where layers of a model rotate in several
// ways, each way has a colour.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "line/command_line.h"
#include "line/formatted.h"
#include "line/text.h"
#include "plot/figures.h"
#include "plot/rope_choice.h"
#include "posenc/wavelength.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kUntrained = 1;  // a length within which no pair completes a period: all are drawn alike

Wavelengths found_of(const RopeChoice& choice) {
  return wavelengths(choice.rope, choice.served.value_or(kUntrained), choice.length);
}

Curve dots_of(const std::string& name, const Wavelengths& found) {
  Curve out{.name = name, .points = {}, .style = CurveStyle::dots};
  for (std::size_t p = 0; p < found.wavelength.size(); ++p) {
    out.points.push_back({static_cast<double>(p), found.wavelength[p]});
  }
  return out;
}

// The pairs of one rotation in two colours, where a length tells them apart.
std::vector<Curve> curves_of(const RopeChoice& choice) {
  const Curve all = dots_of("", found_of(choice));
  if (!choice.served) return {all};
  Curve complete{.name = "complete a period", .points = {}, .style = CurveStyle::dots};
  Curve incomplete{.name = "do not", .points = {}, .style = CurveStyle::dots};
  for (const Point& point : all.points) {
    (point.y <= static_cast<double>(*choice.served) ? complete : incomplete).points.push_back(point);
  }
  std::vector<Curve> out;
  for (Curve* const curve : {&complete, &incomplete}) {
    if (!curve->points.empty()) out.push_back(std::move(*curve));
  }
  return out;
}

// "; 29 of 64 pairs do not complete a period within 131072 tokens"
std::string incomplete_text(const RopeChoice& choice) {
  if (!choice.served) return {};
  const Wavelengths found = found_of(choice);
  return formatted("; {} of {} pairs do not complete a period within {} tokens", found.incomplete_pairs,
                   found.wavelength.size(), *choice.served);
}

}  // namespace

Figure figure_of(const WavelengthsPlot& plot) {
  const std::vector<RopeChoice> choices = choose_ropes(plot.rope);
  Curves curves{.x = {.label = "pair of channels, the fastest first", .whole = true},
                .y = {.label = "wavelength (positions per period)", .logarithmic = true}};
  std::vector<std::string> details;
  for (const RopeChoice& choice : choices) {
    if (choices.size() > 1) curves.curves.push_back(dots_of(choice.numbers, found_of(choice)));
    details.push_back(detail_at_length(choice) + incomplete_text(choice));
  }
  const RopeChoice& first = choices.front();
  if (choices.size() == 1) curves.curves = curves_of(first);
  if (first.trained) {
    curves.marks.push_back({.name = formatted("trained length {}", *first.trained),
                            .at = static_cast<double>(*first.trained),
                            .of = Mark::Of::y});
  }
  if (first.served != first.trained) {
    curves.marks.push_back({.name = formatted("scaled to {}", *first.served),
                            .at = static_cast<double>(*first.served),
                            .of = Mark::Of::y});
  }
  return {.title = "Wavelengths of RoPE, by pair", .detail = join(details, ". "), .content = curves};
}

}  // namespace posenc::tool
