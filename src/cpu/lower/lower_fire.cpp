// FIRE's perceptron has one input and ReLU, so it is piecewise linear in x = psi(d) / psi(max(L, i)): unit w bends at
// -b_w / a_w, for all heads alike. A few line segments a head and two lists of numbers stand for a table over (i - j,
// i).
#include <algorithm>
#include <cmath>

#include "cpu/lower/distances.h"
#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"
#include "math/score/fire.h"

namespace posenc::cpu {
namespace {

// max(0, a x + b)
struct Unit {
  double a;
  double b;

  double edge() const { return -b / a; }
};

// x is at least 0: bends below it are none.
std::vector<double> edges_of(const std::vector<Unit>& units) {
  std::vector<double> out;
  for (const Unit& unit : units) {
    if (unit.a != 0.0 && unit.edge() > 0.0) out.push_back(unit.edge());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Whether the unit is above 0 between those edges; `high` is nothing but a larger number after the last.
bool is_on(const Unit& unit, double low, double high) {
  if (unit.a == 0.0) return unit.b > 0.0;
  return unit.a > 0.0 ? unit.edge() <= low : unit.edge() >= high;
}

}  // namespace

// Segment s lies between edges s - 1 and s. There every unit is either on or off, so a head's output is the line that
// the units which are on add up to, plus the bias of the output.
void lower_term(const Fire&, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<FireWeights>(weights);
  const DistanceRange range = distances(lowering, 0);
  require_table(range.count(), 1, sizeof(double));
  math::Knots out{.low = range.low};
  out.numerators.reserve(index(range.count()));
  for (std::int64_t d = range.low; d <= range.high; ++d) {
    out.numerators.push_back(math::fire_psi(learned.c, std::abs(static_cast<double>(d))));
  }
  out.row_factor.reserve(index(lowering.rows.queries));
  for (const double i : lowering.out.coordinates.front().q) {
    out.row_factor.push_back(1.0 / math::fire_denominator(learned.c, learned.threshold, i));
  }

  std::vector<Unit> units;
  for (std::int64_t w = 0; w < learned.hidden.weight.shape[0]; ++w) {
    const double b = learned.hidden.bias.empty() ? 0.0 : read(learned.hidden.bias, {w});
    units.push_back({read(learned.hidden.weight, {w, 0}), b});
  }
  out.edges = edges_of(units);
  const std::size_t segments = out.edges.size() + 1;
  for (std::int64_t h = 0; h < lowering.layer.heads; ++h) {
    for (std::size_t s = 0; s < segments; ++s) {
      const double low = s == 0 ? 0.0 : out.edges[s - 1];
      const double high = s + 1 == segments ? HUGE_VAL : out.edges[s];
      double intercept = learned.out.bias.empty() ? 0.0 : read(learned.out.bias, {h});
      double slope = 0.0;
      for (std::size_t w = 0; w < units.size(); ++w) {
        if (!is_on(units[w], low, high)) continue;
        const double weight = read(learned.out.weight, {h, static_cast<std::int64_t>(w)});
        intercept += weight * units[w].b;
        slope += weight * units[w].a;
      }
      out.intercepts.push_back(intercept);
      out.slopes.push_back(slope);
    }
  }
  lowering.out.terms.push_back(std::move(out));
}

}  // namespace posenc::cpu
