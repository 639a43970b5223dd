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

#include "inspect/rope_lengths.h"
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
  complete.key = formatted("{} of {} pairs complete a period within {} tokens", complete.points.size(),
                           all.points.size(), *choice.served);
  incomplete.key = formatted("{} of {} do not", incomplete.points.size(), all.points.size());
  std::vector<Curve> out;
  for (Curve* const curve : {&complete, &incomplete}) {
    if (!curve->points.empty()) out.push_back(std::move(*curve));
  }
  return out;
}

// One of several rotations: "base 10000: decoder layers 0-4; 3 of 64 pairs do not complete a period within 4096 tokens"
Curve curve_of(const RopeChoice& choice) {
  const Wavelengths found = found_of(choice);
  Curve out = dots_of(choice.numbers, found);
  out.key = formatted("{}: {}", choice.numbers, choice.layers);
  if (const std::string holds = length_text(choice.rope, choice.length); !holds.empty()) out.key += ", " + holds;
  if (!choice.served) return out;
  const std::string pairs = found.incomplete_pairs == 0
                                ? formatted("all {} pairs", found.wavelength.size())
                                : formatted("{} of {} pairs do not", found.incomplete_pairs, found.wavelength.size());
  out.key += formatted("; {} complete a period within {} tokens", pairs, *choice.served);
  return out;
}

}  // namespace

Figure figure_of(const WavelengthsPlot& plot) {
  const std::vector<RopeChoice> choices = choose_ropes(plot.rope);
  const RopeChoice& first = choices.front();
  Curves curves{.x = {.label = "pair of channels, the fastest first", .whole = true},
                .y = {.label = "wavelength (positions per period)", .logarithmic = true}};
  std::string detail = detail_at_length(first);
  if (choices.size() == 1) {
    curves.curves = curves_of(first);
    curves.names_at_ends = false;
  } else {
    for (const RopeChoice& choice : choices) curves.curves.push_back(curve_of(choice));
    detail = formatted("{}, whose layers rotate in {} ways", first.model, choices.size());
  }
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
  return {.title = "Wavelengths of RoPE, by pair", .detail = detail, .content = curves};
}

}  // namespace posenc::tool
