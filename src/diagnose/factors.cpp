#include "diagnose/factors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/formatted.h"
#include "diagnose/noise.h"
#include "math/bfloat16.h"

namespace posenc::inline v0_2::port {
namespace {

struct PairFactor {
  std::size_t pair;
  double factor;
  double error;  // allowed
  double weight;
};

std::vector<PairFactor> pair_factors(const MeasuredTable& table, const FrequencyList& list) {
  std::vector<PairFactor> out;
  const double t = level_of(static_cast<double>(table.pairs));
  // Where nothing rotates, all of them.
  const bool none = std::ranges::all_of(list.inv_freq, [](double f) { return f == 0; });
  for (std::size_t p = 0; p < table.pairs; ++p) {
    if (list.inv_freq[p] == 0.0 && !none) continue;
    double weight = 0.0;
    double variance = 0.0;
    for (std::size_t r = 0; r < table.rows; ++r) {
      const std::size_t cell = table.at(r, p);
      weight += table.weight[cell];
      variance += table.weight[cell] * table.variance(cell);
    }
    if (!(weight > 0)) continue;
    // The mean of |c| is its size and v / (2 w s) more, of every cell: Rice's distribution.
    const double mean_variance = variance / weight;
    const double excess = mean_variance * static_cast<double>(table.rows) / (2 * weight);
    const double factor = table.factor[p];
    out.push_back({p, factor,
                   std::sqrt(2 * t * mean_variance / weight) + excess + factor * (table.after_unit + 0x1p-22), weight});
  }
  return out;
}

// A table that was rounded, or carried from position to position, has no one length: that is its precision. Whether it
// makes the measured lengths of each pair from the factor that it should have.
bool is_of_coarse_steps(const MeasuredTable& table, const std::vector<PairFactor>& factors,
                        const Explanation& explanation, double planned) {
  MeasuredTable nominal = table;
  std::ranges::fill(nominal.factor, planned);
  const auto follows = [&](Steps steps) {
    const auto z =
        predicted(nominal, {&explanation.frequencies, &explanation.places, &explanation.axis_of_pair, steps});
    return std::ranges::all_of(factors, [&](const PairFactor& one) {
      double up = 0.0;
      double down = 0.0;
      for (std::size_t r = 0; r < table.rows; ++r) {
        const std::size_t cell = table.at(r, one.pair);
        up += table.weight[cell] * std::abs(z[cell]);
        down += table.weight[cell];
      }
      return std::fabs(up / down - one.factor) <= one.error;
    });
  };
  for (int i = 0; i < kSteps; ++i) {
    const auto steps = static_cast<Steps>(i);
    if (steps != Steps::exact && follows(steps)) return true;
  }
  return false;
}

}  // namespace

std::optional<Change> factor_change(const MeasuredTable& table, const Explanation& explanation, double planned) {
  const std::vector<PairFactor> factors = pair_factors(table, explanation.frequencies);
  if (factors.empty()) return {};
  const auto all = [&](double expected) {
    return std::ranges::all_of(factors, [&](const PairFactor& p) { return std::fabs(p.factor - expected) <= p.error; });
  };
  if (all(explanation.frequencies.attention_factor) || all(planned)) return {};
  double up = 0.0;
  double down = 0.0;
  for (const PairFactor& p : factors) {
    up += p.factor * p.weight;
    down += p.weight;
  }
  const double mean = up / down;
  Change out{PortFact::attention_factor, "", formatted("{:.6g}", planned),
             planned == 1.0 ? std::string("do not scale cos and sin")
                            : formatted("multiply cos and sin by {:.6g}, once", planned)};
  if (all(math::rounded_to_bfloat16(planned))) {
    return Change{PortFact::precision, "bfloat16 table", "float32 or better",
                  "make cos and sin in float32, and convert last"};
  }
  if (is_of_coarse_steps(table, factors, explanation, planned)) return {};
  struct Known {
    double factor;
    const char* words;
  };
  const std::array<Known, 4> known{Known{1.0, "not applied"}, Known{planned * planned, "applied twice"},
                                   Known{planned != 0 ? 1 / planned : 0.0, "divided by, instead of multiplied"},
                                   Known{std::sqrt(planned), "its square root"}};
  for (const Known& k : known) {
    if (planned == 1.0 || !all(k.factor)) continue;
    out.found = formatted("{:.6g}, {}", k.factor, k.words);
    return out;
  }
  if (all(mean)) {
    // What five digits do not tell from the plan's is not another factor.
    if (formatted("{:.5g}", mean) == formatted("{:.5g}", planned)) return {};
    out.found = formatted("{:.5g}", mean);
    return out;
  }
  const auto [low, high] = std::ranges::minmax_element(factors, {}, &PairFactor::factor);
  out.found = formatted("differs from pair to pair, from {:.4g} to {:.4g}", low->factor, high->factor);
  return out;
}

}  // namespace posenc::inline v0_2::port
