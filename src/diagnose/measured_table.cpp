#include "diagnose/measured_table.h"

#include <algorithm>
#include <cmath>

namespace posenc::inline v0_2::port {
namespace {

double scale_at(const std::vector<double>& scales, std::size_t i) { return scales.empty() ? 1.0 : scales[i]; }

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The pairs of a head as complex numbers, in the order of pairs. [pairs]
using Head = std::vector<std::complex<double>>;

void read_pairs(const double* values, const std::vector<math::PairChannels>& channels, const std::vector<double>& scale,
                double by, Head& to) {
  for (std::size_t p = 0; p < channels.size(); ++p) {
    const auto a = static_cast<std::size_t>(channels[p].a);
    const auto b = static_cast<std::size_t>(channels[p].b);
    to[p] = {values[a] * scale_at(scale, a) * by, values[b] * scale_at(scale, b) * by};
  }
}

// What c leaves is summed directly: the difference of sums of squares would lose half of the digits.
double rest_of(const std::vector<Head>& x, const std::vector<Head>& y, std::size_t pair, std::complex<double> c,
               bool mirrored) {
  double rest = 0.0;
  for (std::size_t h = 0; h < x.size(); ++h) {
    const std::complex<double> from = mirrored ? std::conj(x[h][pair]) : x[h][pair];
    rest += std::norm(y[h][pair] - c * from);
  }
  return rest;
}

void add_outside(const Samples& samples, const ChannelPairs& pairs, MeasuredTable& table) {
  std::vector<char> inside(static_cast<std::size_t>(samples.channels), 0);
  for (const auto& [a, b] : pairs.from) inside[static_cast<std::size_t>(a)] = inside[static_cast<std::size_t>(b)] = 1;
  for (std::size_t i = 0; i < samples.after.size(); ++i) {
    const double y = samples.after[i];
    table.energy += y * y;
    if (inside[i % inside.size()] != 0) continue;
    const double change = y - samples.before[i];
    table.outside_rest += change * change;
    table.outside_count += 1;
  }
}

// What |c| is beside its pair's factor counts as left too: one number of freedom for each cell.
void find_factors(MeasuredTable& table, const std::vector<double>& cell_rest, std::size_t heads) {
  table.factor.assign(table.pairs, 1.0);
  for (std::size_t p = 0; p < table.pairs; ++p) {
    double up = 0.0;
    double down = 0.0;
    for (std::size_t r = 0; r < table.rows; ++r) {
      up += table.weight[table.at(r, p)] * std::abs(table.c[table.at(r, p)]);
      down += table.weight[table.at(r, p)];
    }
    if (down > 0) table.factor[p] = up / down;
  }
  table.pair_rest.assign(table.pairs, 0.0);
  table.row_rest.assign(table.rows, 0.0);
  table.pair_between.assign(table.pairs, 0.0);
  table.row_between.assign(table.rows, 0.0);
  for (std::size_t r = 0; r < table.rows; ++r) {
    for (std::size_t p = 0; p < table.pairs; ++p) {
      const std::size_t cell = table.at(r, p);
      const double off = std::abs(table.c[cell]) - table.factor[p];
      const double rest = cell_rest[cell] + table.weight[cell] * off * off;
      table.pair_rest[p] += rest;
      table.row_rest[r] += rest;
      table.pair_between[p] += cell_rest[cell];
      table.row_between[r] += cell_rest[cell];
    }
  }
  const double each = 2.0 * static_cast<double>(heads) - 1.0;
  table.pair_freedom = std::max(1.0, each * static_cast<double>(table.rows) - 1);
  table.row_freedom = std::max(1.0, each * static_cast<double>(table.pairs));
}

void find_noise(MeasuredTable& table, std::size_t heads) {
  std::vector<double> plain;
  std::vector<double> by_weight;
  double all = 0.0;
  for (std::size_t p = 0; p < table.pairs; ++p) {
    double weight = 0.0;
    for (std::size_t r = 0; r < table.rows; ++r) weight += table.weight[table.at(r, p)];
    all += weight * table.factor[p] * table.factor[p];
    if (weight == 0) continue;
    const double variance = table.pair_rest[p] / table.pair_freedom;
    plain.push_back(variance);
    by_weight.push_back(variance / (weight / static_cast<double>(table.rows)));
  }
  // Rounding: u^2 y^2 / 3 of an element, of which a cell has twice its heads.
  const double unit = table.after_unit;
  const double elements = 2.0 * static_cast<double>(heads);
  const double rounding_by_weight = rounding_variance(unit, 1.0) / elements;
  const double cells = static_cast<double>(table.rows * table.pairs);
  table.common = std::max(median(std::move(plain)), cells > 0 ? rounding_by_weight * all / cells : 0.0);
  table.by_weight = std::max(median(std::move(by_weight)), rounding_by_weight);
}

}  // namespace

MeasuredTable measure(const Samples& samples, const ChannelPairs& pairs, const Scales& scales) {
  MeasuredTable table{.sequences = samples.sequences,
                      .tokens = samples.tokens,
                      .rows = static_cast<std::size_t>(samples.rows()),
                      .pairs = pairs.pairs(),
                      .after_unit = samples.after_unit};
  const auto heads = static_cast<std::size_t>(samples.heads);
  const std::size_t cells = table.rows * table.pairs;
  table.c.assign(cells, 0.0);
  table.angle.assign(cells, 0.0);
  table.weight.assign(cells, 0.0);
  std::vector<double> cell_rest(cells, 0.0);
  std::vector<Head> x(heads, Head(table.pairs));
  std::vector<Head> y(heads, Head(table.pairs));
  for (std::size_t r = 0; r < table.rows; ++r) {
    for (std::size_t h = 0; h < heads; ++h) {
      const auto row = static_cast<std::int64_t>(r);
      const auto head = static_cast<std::int64_t>(h);
      read_pairs(samples.x(row, head), pairs.from, scales.before, scale_at(scales.vectors, r * heads + h), x[h]);
      read_pairs(samples.y(row, head), pairs.to, scales.after, 1.0, y[h]);
    }
    for (std::size_t p = 0; p < table.pairs; ++p) {
      std::complex<double> xy = 0.0;
      std::complex<double> mirrored = 0.0;
      double xx = 0.0;
      for (std::size_t h = 0; h < heads; ++h) {
        xx += std::norm(x[h][p]);
        xy += std::conj(x[h][p]) * y[h][p];
        mirrored += x[h][p] * y[h][p];
      }
      const std::size_t cell = table.at(r, p);
      table.weight[cell] = xx;
      if (!(xx > 0)) continue;
      table.c[cell] = xy / xx;
      table.angle[cell] = std::arg(table.c[cell]);
      cell_rest[cell] = rest_of(x, y, p, table.c[cell], false);
      table.reflected_rest += rest_of(x, y, p, mirrored / xx, true);
    }
  }
  add_outside(samples, pairs, table);
  find_factors(table, cell_rest, heads);
  find_noise(table, heads);
  return table;
}

}  // namespace posenc::inline v0_2::port
