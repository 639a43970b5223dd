#include "diagnose/hypothesis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "diagnose/noise.h"
#include "math/bfloat16.h"

namespace posenc::inline v0_2::port {
namespace {

using Z = std::complex<double>;

constexpr double kFloatUnit = 0x1p-24;

double in_float(double x) { return static_cast<double>(static_cast<float>(x)); }
double in_bfloat16(double x) { return math::rounded_to_bfloat16(x); }

// binary16 to nearest, ties to even; 11 significant bits, the last place at 2^-24 or above.
double in_float16(double x) {
  if (x == 0.0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent - 11, -24);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  return std::fabs(rounded) > 65504.0 ? std::copysign(65504.0, x) : rounded;
}

Z turned(double angle, double factor) { return std::polar(factor, angle); }

template <typename Round>
Z rounded(Z z, Round round) {
  return {round(z.real()), round(z.imag())};
}

// What the arithmetic of `steps` rounds to what.
enum class Grid : std::uint8_t { none, float32, bfloat16, float16 };
struct Grids {
  Grid place = Grid::none;
  Grid frequency = Grid::none;
  Grid angle = Grid::none;
  Grid table = Grid::none;
};

Grids grids_of(Steps steps) {
  constexpr Grid kNone = Grid::none;
  constexpr Grid kFloat = Grid::float32;
  constexpr Grid kShort = Grid::bfloat16;
  constexpr Grid kHalf = Grid::float16;
  switch (steps) {
    case Steps::exact: return {};
    case Steps::float32: return {kNone, kFloat, kFloat, kFloat};
    case Steps::float32_table: return {kNone, kNone, kNone, kFloat};
    case Steps::bfloat16_table: return {kNone, kFloat, kFloat, kShort};
    case Steps::float16_table: return {kNone, kFloat, kFloat, kHalf};
    case Steps::bfloat16_table_exact: return {kNone, kNone, kNone, kShort};
    case Steps::float16_table_exact: return {kNone, kNone, kNone, kHalf};
    case Steps::bfloat16_frequencies: return {kNone, kShort, kFloat, kFloat};
    case Steps::float16_frequencies: return {kNone, kHalf, kFloat, kFloat};
    case Steps::bfloat16_angles: return {kShort, kShort, kShort, kShort};
    case Steps::float16_angles: return {kHalf, kHalf, kHalf, kHalf};
    case Steps::bfloat16_products: return {kNone, kFloat, kShort, kFloat};
    case Steps::float16_products: return {kNone, kFloat, kHalf, kFloat};
    case Steps::bfloat16_products_of_frequencies: return {kNone, kShort, kShort, kFloat};
    case Steps::float16_products_of_frequencies: return {kNone, kHalf, kHalf, kFloat};
    case Steps::bfloat16_products_of_both: return {kShort, kShort, kShort, kFloat};
    case Steps::float16_products_of_both: return {kHalf, kHalf, kHalf, kFloat};
    case Steps::float32_recurrence:
    case Steps::float32_recurrence_exact:
    case Steps::float32_sums: return {kNone, kFloat, kFloat, kFloat};
    case Steps::float16_recurrence:
    case Steps::float16_recurrence_exact: return {kNone, kFloat, kFloat, kHalf};
    case Steps::bfloat16_recurrence:
    case Steps::bfloat16_recurrence_exact: return {kNone, kFloat, kFloat, kShort};
  }
  return {};
}

bool is_short(Grid grid) { return grid == Grid::bfloat16 || grid == Grid::float16; }

double on_grid(Grid grid, double x) {
  switch (grid) {
    case Grid::none: return x;
    case Grid::float32: return in_float(x);
    case Grid::bfloat16: return in_bfloat16(x);
    case Grid::float16: return in_float16(x);
  }
  return x;
}

// The number of the place that each row stands at on a grid, the same of rows that stand at one.
std::vector<std::size_t> numbered(const std::vector<double>& places, Grid grid) {
  std::map<double, std::size_t> numbers;
  std::vector<std::size_t> out;
  out.reserve(places.size());
  for (const double place : places) {
    out.push_back(numbers.try_emplace(on_grid(grid, place), numbers.size()).first->second);
  }
  return out;
}

// By so much, relatively, frequencies and products in float32 steps differ from those in others.
constexpr double kFloatSteps = 0x1p-20;

// Frequencies as float32 code has them: the rope's own float steps, or the list rounded.
std::vector<double> float_frequencies(const FrequencyList& list) {
  std::vector<double> out = list.inv_freq;
  for (double& f : out) f = in_float(f);
  if (!list.rope || check(*list.rope, list.length)) return out;
  const Frequencies exact = frequencies(*list.rope, list.length);
  const Frequencies in_steps = frequencies(*list.rope, list.length, Arithmetic::float32);
  // Where the list has them, in its own places.
  std::size_t from = 0;
  for (std::size_t p = 0; p < out.size() && from < exact.inv_freq.size(); ++p) {
    if (list.inv_freq[p] != exact.inv_freq[from]) continue;
    out[p] = in_steps.inv_freq[from++];
  }
  return out;
}

bool from_exact_step(Steps steps) {
  return steps == Steps::float32_recurrence_exact || steps == Steps::float16_recurrence_exact ||
         steps == Steps::bfloat16_recurrence_exact;
}

// Positions that are followed: those of float32 in 0.1 s, those that are rounded one by one in as much.
constexpr double kFollowed = 0x1p16;
constexpr double kFollowedShort = 0x1p13;

// One position's cos and sin from the one before it; the runs of positions that count by one are followed, and what
// lies farther than that is taken as exact. The lengths drift, so the factor is what code multiplies by, not what was
// measured.
std::vector<Z> recurrence(const MeasuredTable& table, const Hypothesis& hypothesis) {
  const bool sums = hypothesis.steps == Steps::float32_sums;
  const bool exact = from_exact_step(hypothesis.steps);
  const Grid grid = grids_of(hypothesis.steps).table;
  const auto on = [&](double x) { return on_grid(grid, x); };
  std::vector<Z> z = predicted(table, {hypothesis.frequencies, hypothesis.places, hypothesis.axis_of_pair});
  const std::vector<double> f = exact ? hypothesis.frequencies->inv_freq : float_frequencies(*hypothesis.frequencies);
  const std::vector<double>& places = hypothesis.places->axes.front();
  double most = 0.0;
  for (const double x : places) most = std::max(most, x);
  if (most > (is_short(grid) ? kFollowedShort : kFollowed)) return z;
  const auto length = static_cast<std::size_t>(most) + 1;
  std::vector<Z> column(length);
  for (std::size_t p = 0; p < table.pairs; ++p) {
    const double factor = nominal_factor(table.factor[p], *hypothesis.frequencies, is_short(grid) ? 1e3 : 0x1p-8);
    const auto step = static_cast<float>(f[p]);
    const Z by = rounded(exact ? turned(f[p], 1.0) : Z(std::cos(step), std::sin(step)), on);
    float angle = 0.0F;
    column[0] = {1.0, 0.0};
    for (std::size_t i = 1; i < length; ++i) {
      const Z last = column[i - 1];
      angle += step;
      // A product of two of these is exact in float64, and so is the grid's rounding of it.
      column[i] = sums ? Z(std::cos(angle), std::sin(angle))
                       : Z(on(on(last.real() * by.real()) - on(last.imag() * by.imag())),
                           on(on(last.real() * by.imag()) + on(last.imag() * by.real())));
    }
    for (std::size_t r = 0; r < table.rows; ++r) {
      const double place = places[r];
      if (place < 0 || place != std::floor(place)) continue;
      z[table.at(r, p)] = factor * column[static_cast<std::size_t>(place)];
    }
  }
  return z;
}

// Frequencies of each token's own, in exact arithmetic.
std::vector<Z> predicted_by_place(const MeasuredTable& table, const Hypothesis& h) {
  std::vector<Z> out(table.rows * table.pairs);
  const std::vector<double>& places = h.places->axes.front();
  for (std::size_t r = 0; r < table.rows; ++r) {
    const std::vector<double> f = h.frequencies->at_place(places[r]);
    for (std::size_t p = 0; p < table.pairs; ++p) out[table.at(r, p)] = turned(places[r] * f[p], table.factor[p]);
  }
  return out;
}

}  // namespace

double nominal_factor(double measured, const FrequencyList& list, double near) {
  double out = measured;
  double least = near;
  for (const double nominal : {1.0, list.attention_factor}) {
    const double off = std::fabs(measured - nominal) / nominal;
    if (off < least) {
      out = nominal;
      least = off;
    }
  }
  return out;
}

std::vector<Z> predicted(const MeasuredTable& table, const Hypothesis& h) {
  if (h.frequencies->at_place) return predicted_by_place(table, h);
  if (is_carried(h.steps)) return recurrence(table, h);
  const Grids grids = grids_of(h.steps);
  std::vector<double> f = h.frequencies->inv_freq;
  if (grids.frequency != Grid::none) f = float_frequencies(*h.frequencies);
  for (double& x : f) x = on_grid(grids.frequency, x);
  // float32 steps before a coarse rounding may lead to either neighbour: that which was measured, the same wherever a
  // place comes again. One of each row's own would fit the noise.
  std::vector<std::vector<std::size_t>> numbers;
  if (is_short(grids.angle)) {
    for (const std::vector<double>& places : h.places->axes) numbers.push_back(numbered(places, grids.place));
  }
  std::vector<Z> above(table.rows);
  std::vector<double> below_fits(table.rows);
  std::vector<Z> out(table.rows * table.pairs);
  for (std::size_t p = 0; p < table.pairs; ++p) {
    const std::size_t axis =
        h.axis_of_pair == nullptr || h.axis_of_pair->empty() ? 0 : static_cast<std::size_t>((*h.axis_of_pair)[p]);
    const std::vector<double>& places = h.places->axes[axis];
    // A table is rounded with the factor that code multiplies it by: what was measured is off by the roundings' mean.
    const double factor =
        h.steps == Steps::exact ? table.factor[p] : nominal_factor(table.factor[p], *h.frequencies, 0x1p-8);
    const auto z = [&](double angle) {
      if (grids.table == Grid::none) return turned(angle, factor);
      if (grids.table == Grid::float32) return factor * rounded(turned(angle, 1.0), in_float);
      return rounded(turned(angle, factor), [&](double x) { return on_grid(grids.table, x); });
    };
    std::ranges::fill(below_fits, 0.0);
    for (std::size_t r = 0; r < table.rows; ++r) {
      const std::size_t cell = table.at(r, p);
      const double exact = on_grid(grids.place, places[r]) * f[p];
      if (!is_short(grids.angle)) {
        out[cell] = z(on_grid(grids.angle, exact));
        continue;
      }
      out[cell] = z(on_grid(grids.angle, exact * (1 - kFloatSteps)));
      above[r] = z(on_grid(grids.angle, exact * (1 + kFloatSteps)));
      below_fits[numbers[axis][r]] +=
          table.weight[cell] * (std::norm(above[r] - table.c[cell]) - std::norm(out[cell] - table.c[cell]));
    }
    if (!is_short(grids.angle)) continue;
    for (std::size_t r = 0; r < table.rows; ++r) {
      if (!(below_fits[numbers[axis][r]] > 0)) out[table.at(r, p)] = above[r];
    }
  }
  return out;
}

double angle_tolerance(double angle, double base) {
  return std::fabs(angle) * (4.0 + std::log(std::max(base, 1.0))) * kFloatUnit;
}

Judged judge(const MeasuredTable& table, const Hypothesis& h, const JudgeOptions& options) {
  const std::vector<Z> z = predicted(table, h);
  const double base = h.frequencies->rope ? h.frequencies->rope->base : 1e6;
  struct Sums {
    double rest = 0.0;
    double tolerated = 0.0;
    Variances noise;
  };
  std::vector<Sums> pairs(table.pairs);
  std::vector<Sums> rows(table.rows);
  Sums all;
  for (std::size_t r = 0; r < table.rows; ++r) {
    if (!options.rows.empty() && options.rows[r] == 0) continue;
    for (std::size_t p = 0; p < table.pairs; ++p) {
      const std::size_t cell = table.at(r, p);
      const double w = table.weight[cell];
      if (!(w > 0)) continue;
      const double rest = w * std::norm(z[cell] - table.c[cell]);
      const std::size_t axis =
          h.axis_of_pair == nullptr || h.axis_of_pair->empty() ? 0 : static_cast<std::size_t>((*h.axis_of_pair)[p]);
      const double angle = h.places->axes[axis][r] * h.frequencies->inv_freq[p];
      // cos and sin are off by half a unit in the last place each, of float32 or of the dtype: by one unit together.
      const double off =
          options.tolerant ? table.factor[p] * (angle_tolerance(angle, base) + 2 * kFloatUnit + table.after_unit) : 0.0;
      for (Sums* const sums : {&pairs[p], &rows[r], &all}) {
        sums->rest += rest;
        sums->tolerated += w * off * off;
        sums->noise.add(table.variance(cell), 2.0);
      }
    }
  }
  Judged out{.row_holds = std::vector<char>(table.rows, 1), .pair_holds = std::vector<char>(table.pairs, 1)};
  const double t = level_of(static_cast<double>(table.rows + table.pairs) + 1, options.error);
  // The variance itself was measured with so many degrees of freedom, of the pairs up to the median.
  const double freedom = table.pair_freedom * std::max(1.0, static_cast<double>(table.pairs) / 2);
  const double unsure = 1.0 + 2.0 * std::sqrt(t / freedom);
  const auto check = [&](const Sums& sums) {
    const double allowed = std::sqrt(unsure * sums.noise.bound(t)) + std::sqrt(sums.tolerated);
    const double ratio = allowed > 0 ? sums.rest / (allowed * allowed) : sums.rest > 0 ? 1e300 : 0.0;
    out.excess = std::max(out.excess, ratio);
    return ratio <= 1.0;
  };
  for (std::size_t p = 0; p < table.pairs; ++p) {
    out.rest += pairs[p].rest;
    out.pair_holds[p] = check(pairs[p]) ? 1 : 0;
  }
  for (std::size_t r = 0; r < table.rows; ++r) out.row_holds[r] = check(rows[r]) ? 1 : 0;
  check(all);
  out.holds = out.excess <= 1.0;
  return out;
}

// Rounding varies by four within a power of two, u^2 y^2 / 12 to u^2 y^2 / 3, so that much of pairs may differ.
Unsound unsound(const MeasuredTable& table, const Hypothesis* explained) {
  constexpr double kWithinBinade = 4.0;
  Unsound out;
  const double t = level_of(static_cast<double>(table.rows + table.pairs));
  std::vector<Variances> pairs(table.pairs);
  std::vector<Variances> rows(table.rows);
  for (std::size_t r = 0; r < table.rows; ++r) {
    for (std::size_t p = 0; p < table.pairs; ++p) {
      const double variance = kWithinBinade * table.variance(table.at(r, p));
      pairs[p].add(variance, table.pair_freedom / static_cast<double>(table.rows));
      rows[r].add(variance, table.row_freedom / static_cast<double>(table.pairs));
    }
  }
  std::optional<Judged> judged;
  if (explained != nullptr) judged = judge(table, *explained);
  for (std::size_t p = 0; p < table.pairs; ++p) {
    const bool holds = judged && judged->pair_holds[p] != 0;
    if ((holds ? table.pair_between : table.pair_rest)[p] > pairs[p].bound(t)) out.pairs.push_back(p);
  }
  for (std::size_t r = 0; r < table.rows; ++r) {
    const bool holds = judged && judged->row_holds[r] != 0;
    if ((holds ? table.row_between : table.row_rest)[r] > rows[r].bound(t)) out.rows.push_back(r);
  }
  Variances outside;
  outside.add(kWithinBinade * table.common, table.outside_count);
  outside.add(rounding_variance(table.after_unit, table.energy), 1.0);
  out.outside = table.outside_count > 0 && table.outside_rest > outside.bound(t);
  return out;
}

}  // namespace posenc::inline v0_2::port
