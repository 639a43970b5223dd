#include "diagnose/weighing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/formatted.h"
#include "diagnose/factors.h"
#include "diagnose/noise.h"
#include "diagnose/precision/precision.h"
#include "diagnose/screen.h"

namespace posenc::inline v0_2::port {
namespace {

// Cells that are weighed at most: enough for evidence, and 30 hypotheses in three arithmetics take 0.2 s.
constexpr std::size_t kWeighedCells = std::size_t{1} << 15;

Hypothesis hypothesis_of(const Explanation& e, Steps steps) {
  return {&e.frequencies, &e.places, &e.axis_of_pair, steps};
}

std::vector<std::size_t> weighed_rows(const MeasuredTable& table) {
  const std::size_t most = std::max<std::size_t>(1, kWeighedCells / std::max<std::size_t>(1, table.pairs));
  std::vector<std::size_t> rows = all_rows(table);
  if (rows.size() <= most) return rows;
  for (std::size_t i = 0; i < most; ++i) rows[i] = i * (table.rows - 1) / (most - 1);
  rows.resize(most);
  return rows;
}

struct Weight {
  double misfit = std::numeric_limits<double>::infinity();
  Steps steps = Steps::exact;
};

// The least of what models are run in; of an explanation by coarse steps, those.
Weight weight_of(const MeasuredTable& table, const Explanation& e) {
  if (e.steps != Steps::exact) return {misfit(table, e, e.steps), e.steps};
  Weight out;
  constexpr std::array<std::pair<Steps, double>, 6> kTables{
      std::pair{Steps::exact, 0.0},          {Steps::float32, 0.0},           {Steps::bfloat16_table, 0x1p-8},
      {Steps::bfloat16_table_exact, 0x1p-8}, {Steps::float16_table, 0x1p-11}, {Steps::float16_table_exact, 0x1p-11},
  };
  for (const auto& [steps, unit] : kTables) {
    // A table that is coarser than the tensors is a finding of its own.
    if (unit > table.after_unit) continue;
    if (const double m = misfit(table, e, steps); m < out.misfit) out = {m, steps};
  }
  return out;
}

Explanation on_rows(const Explanation& e, const std::vector<std::size_t>& rows) {
  Explanation out = e;
  out.places = of_rows(e.places, rows);
  out.first_row = {};
  out.end_row = {};
  return out;
}

// `roundings`: of the tensor, that the numbers may be apart.
bool same_numbers(const MeasuredTable& table, const Explanation& a, const Explanation& b, double roundings = 1.0) {
  const auto za = predicted(table, hypothesis_of(a, a.steps));
  const auto zb = predicted(table, hypothesis_of(b, b.steps));
  for (std::size_t i = 0; i < za.size(); ++i) {
    // Doubles make 1e-12 of angles up to 2^13; and what rounding loses is not there.
    if (std::abs(za[i] - zb[i]) > std::max(1e-9, roundings * table.after_unit * std::abs(za[i]))) return false;
  }
  return true;
}

bool changes_the_same(const Explanation& a, const Explanation& b) {
  return std::ranges::equal(a.changes, b.changes,
                            [](const Change& x, const Change& y) {
                              return x.fact == y.fact && x.found == y.found && x.first_row == y.first_row;
                            }) &&
         a.first_position == b.first_position;
}

// Two rules that make the same positions are one.
bool says_the_same(const Explanation& a, const Explanation& b) { return a.steps == b.steps && changes_the_same(a, b); }

// Nor do two arithmetics of one name differ.
bool reads_the_same(const Explanation& a, const Explanation& b) {
  return words(a.steps) == words(b.steps) && changes_the_same(a, b);
}

std::string change_words(const std::vector<Change>& changes) {
  std::vector<std::string> out;
  for (const Change& change : changes) out.push_back(formatted("{}: {}", name(change.fact), change.found));
  return joined(out, "; ");
}

// Whether it takes more than one pair to prefer a fitted number to the plan: of one pair any number can be made.
bool is_supported(const MeasuredTable& table, const Explanation& e, const Explanation& plan) {
  const auto mine = predicted(table, hypothesis_of(e, e.steps));
  const auto other = predicted(table, hypothesis_of(plan, plan.steps));
  double all = 0.0;
  double most = 0.0;
  for (std::size_t p = 0; p < table.pairs; ++p) {
    double gain = 0.0;
    for (std::size_t r = 0; r < table.rows; ++r) {
      const std::size_t i = table.at(r, p);
      const double variance = table.variance(i);
      if (!(variance > 0)) continue;
      gain += table.weight[i] * (beyond_rounding(table, other[i], i) - beyond_rounding(table, mine[i], i)) / variance;
    }
    all += gain;
    most = std::max(most, gain);
  }
  return all - most > 2 * level_of(static_cast<double>(table.pairs));
}

// All angles times a number that was measured is no rival of the list that makes the same numbers, up to the error of
// what was measured.
void drop_known_stretches(const MeasuredTable& some, const std::vector<std::size_t>& rows,
                          std::vector<Explanation>& found) {
  constexpr double kOfMeasured = 16.0;
  const auto is_list = [](const Explanation& e) { return e.places.changes.empty() && !e.first_row; };
  std::vector<bool> is_known(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    is_known[i] =
        found[i].places.is_stretch && std::ranges::any_of(found, [&](const Explanation& other) {
          return is_list(other) && same_numbers(some, on_rows(found[i], rows), on_rows(other, rows), kOfMeasured);
        });
  }
  std::size_t at = 0;
  std::erase_if(found, [&](const Explanation&) { return is_known[at++]; });
}

std::size_t assumptions(const Explanation& e) { return e.changes.size() + (e.steps == Steps::exact ? 0U : 1U); }

}  // namespace

// Rounding is no noise: an angle that turns a channel by less than half of its last place is lost in every head alike,
// and what says that there was none would fit best. Below that nothing is evidence.
double beyond_rounding(const MeasuredTable& table, std::complex<double> z, std::size_t cell) {
  return std::max(std::norm(z - table.c[cell]), table.after_unit * table.after_unit * std::norm(table.c[cell]));
}

double misfit(const MeasuredTable& table, const Explanation& e, Steps steps) {
  const auto z = predicted(table, hypothesis_of(e, steps));
  double sum = 0.0;
  const std::size_t end = e.end_row.value_or(table.rows) * table.pairs;
  for (std::size_t i = e.first_row.value_or(0) * table.pairs; i < end; ++i) {
    const double variance = table.variance(i);
    if (variance > 0) sum += table.weight[i] * beyond_rounding(table, z[i], i) / variance;
  }
  return sum;
}

Explained weighed(const MeasuredTable& table, std::vector<Explanation> found, const Explanation* plan_itself,
                  double planned) {
  Explained out;
  if (found.empty()) return out;
  std::vector<Explanation> once;
  for (Explanation& e : found) {
    if (std::ranges::none_of(once, [&](const Explanation& o) { return says_the_same(e, o); }))
      once.push_back(std::move(e));
  }
  found = std::move(once);
  const std::vector<std::size_t> rows = weighed_rows(table);
  const MeasuredTable some = some_rows(table, rows);
  std::vector<Weight> weights;
  std::size_t best = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (auto change = factor_change(table, found[i], planned)) found[i].changes.push_back(std::move(*change));
    weights.push_back(found[i].first_row ? Weight{} : weight_of(some, on_rows(found[i], rows)));
    if (weights[i].misfit < weights[best].misfit) best = i;
  }
  const Explanation finest = on_rows(found[best], rows);
  const bool nothing_left = judge(some, hypothesis_of(finest, weights[best].steps), {.tolerant = false}).holds;
  if (nothing_left && !found[best].first_row) {
    const double most = weights[best].misfit + 2 * level_of(static_cast<double>(found.size()));
    std::vector<Explanation> kept;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (weights[i].misfit <= most) kept.push_back(std::move(found[i]));
    }
    found = std::move(kept);
  }
  const auto plan = std::ranges::find_if(found, [](const Explanation& e) { return assumptions(e) == 0; });
  if (plan != found.end()) {
    std::iter_swap(found.begin(), plan);
    out.as_good.push_back(found.front());
    for (std::size_t i = 1; i < found.size(); ++i) {
      if (found[i].guess) continue;
      // Where the plan rotates nothing, nothing is said of it.
      const bool rotates = std::ranges::any_of(found[i].frequencies.inv_freq, [](double f) { return f != 0; });
      if (rotates && same_numbers(some, on_rows(found.front(), rows), on_rows(found[i], rows))) {
        out.alike.push_back(formatted("{} would make the same numbers here", change_words(found[i].changes)));
      } else {
        out.as_good.push_back(std::move(found[i]));
      }
    }
    return out;
  }
  std::erase_if(found, [&](const Explanation& e) {
    if (e.first_row) return false;
    const Explanation few = on_rows(e, rows);
    if (e.frequencies.fitted && plan_itself != nullptr && !is_supported(some, few, on_rows(*plan_itself, rows))) {
      return true;
    }
    return !judge(some, hypothesis_of(few, weight_of(some, few).steps), {.error = kUnnamed}).holds;
  });
  drop_known_stretches(some, rows, found);
  const std::size_t fewest = assumptions(*std::ranges::min_element(found, {}, assumptions));
  for (Explanation& e : found) {
    if (assumptions(e) != fewest) continue;
    if (std::ranges::any_of(out.as_good, [&](const Explanation& o) { return reads_the_same(e, o); })) continue;
    out.as_good.push_back(std::move(e));
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
