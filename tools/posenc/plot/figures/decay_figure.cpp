// posenc plot decay: the curves behind RoPE's long-term decay.
//
// RoFormer's bound, arXiv 2104.09864, (37), falls with distance, and so does the score of q = k = (1, ..., 1); scores
// of random q and k have the mean 0 and the spread 1 at every distance, and so have rows of a random table (dashed).
// posenc/properties.h defines the curves, docs/properties.md discusses them.
#include <algorithm>
#include <utility>

#include "line/formatted.h"
#include "line/text.h"
#include "plot/figures.h"
#include "posenc/properties.h"

namespace posenc::tool {
namespace {

// In units of `unit`.
Curve curve_of(std::string name, const DecayCurves& decay, const std::vector<double>& values, double unit = 1.0) {
  Curve out{.name = std::move(name), .points = {}};
  for (std::size_t n = 0; n < values.size(); ++n) {
    out.points.push_back({static_cast<double>(decay.distances[n]), values[n] / unit});
  }
  return out;
}

// Of a table, whose rows are themselves at distance 0.
Curve apart(Curve curve) {
  curve.points.erase(curve.points.begin());
  curve.style = CurveStyle::dashes;
  return curve;
}

}  // namespace

Figure figure_of(const DecayPlot& plot) {
  // At least 128 steps of whole tokens, and fewer than 256; a shorter range has each of its distances.
  constexpr std::int64_t kSteps = 128;
  const DecayCurves decay = decay_curves({.dim = plot.channels,
                                          .base = plot.base,
                                          .longest = plot.longest,
                                          .step = std::max<std::int64_t>(1, plot.longest / kSteps)});
  std::vector<Curve> curves{curve_of("bound", decay, decay.bound, decay.bound.front()),
                            curve_of("q = k", decay, decay.equal),
                            curve_of("random: spread", decay, decay.random_spread),
                            curve_of("random: mean", decay, decay.random_mean),
                            apart(curve_of("table: spread", decay, decay.table_spread)),
                            apart(curve_of("table: mean", decay, decay.table_mean))};
  return {.title = "Does RoPE's score decay with distance?",
          .detail = formatted("base {}, {} channels. The paper's bound, over its value at 0; equal queries and keys; "
                              "random ones; rows of a random table instead of RoPE",
                              number(plot.base), plot.channels),
          .content = Curves{.x = {.label = "distance i - j (tokens)", .whole = true},
                            .y = {.label = "score (q.k / sqrt(d))"},
                            .curves = std::move(curves)}};
}

}  // namespace posenc::tool
