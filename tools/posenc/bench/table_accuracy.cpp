// posenc demo judges every instruction set on the same positions: two tables (make_table), then scattered positions
// without a table (cos_sin). The truth of a position is computed once for all of them.
#include "bench/table_accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <utility>

#include "bench/angle_truth.h"
#include "posenc/rotary_table.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestAngle = 1LL << 31;  // the bound of 1 ulp holds up to here

// The spacing of floats at `x`, 2^(floor(log2 |x|) - 23), not below that of the subnormals.
double float_ulp(double x) { return std::ldexp(1.0, std::max(x == 0.0 ? -126 : std::ilogb(x), -126) - 23); }

struct Truth {
  double cos, sin;
  double cos_ulp, sin_ulp;
};

// True values of all pairs at one position.
std::vector<Truth> truths(const Frequencies& f, std::int64_t position) {
  std::vector<Truth> out;
  for (const double inv_freq : f.inv_freq) {
    const CosAndSin t = true_cos_sin(position, inv_freq);
    const double c = f.attention_factor * t.cos;
    const double s = f.attention_factor * t.sin;
    out.push_back({c, s, float_ulp(c), float_ulp(s)});
  }
  return out;
}

// One position. NaN is an infinite error.
void judge(WorstError& worst, std::int64_t position, const std::vector<Truth>& truth, std::span<const float> cos,
           std::span<const float> sin) {
  const auto error_in_ulp = [](float got, double expected, double ulp) {
    const double error = std::fabs(static_cast<double>(got) - expected) / ulp;
    return std::isnan(error) ? HUGE_VAL : error;
  };
  for (std::size_t p = 0; p < truth.size(); ++p) {
    const double error = std::max(error_in_ulp(cos[p], truth[p].cos, truth[p].cos_ulp),
                                  error_in_ulp(sin[p], truth[p].sin, truth[p].sin_ulp));
    if (error > worst.ulp) worst = {worst.isa, error, position, static_cast<std::int64_t>(p)};
  }
}

// Ascending, each once: edges, the hardest positions of every pair, drawn ones; all of them with either sign.
std::vector<std::int64_t> scattered_positions(const Frequencies& f, std::int64_t trained) {
  std::vector<std::int64_t> out;
  constexpr std::int64_t kFloatWhole = 1LL << 24;  // floats hold whole numbers up to here
  for (const std::int64_t edge : {kFloatWhole, kLargestAngle - 1, trained})
    out.insert(out.end(), {edge - 1, edge, edge + 1});
  for (const double inv_freq : f.inv_freq) {
    const std::vector<std::int64_t> hard = hardest_positions(inv_freq, kLargestAngle);
    out.insert(out.end(), hard.begin(), hard.end());
  }
  const std::vector<std::int64_t> drawn = drawn_positions(trained);
  out.insert(out.end(), drawn.begin(), drawn.end());
  const std::size_t positive = out.size();
  for (std::size_t i = 0; i < positive; ++i) out.push_back(-out[i]);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void judge_tables(Accuracy& accuracy, const Rope& rope, const Frequencies& f, std::int64_t start, std::int64_t count) {
  std::vector<RotaryTable> tables;
  for (const WorstError& worst : accuracy.worst) {
    tables.push_back(make_table(rope, {.start = start, .count = count, .isa = worst.isa}));
  }
  for (std::int64_t position = start; position < start + count; ++position) {
    const std::vector<Truth> truth = truths(f, position);
    for (std::size_t k = 0; k < tables.size(); ++k) {
      judge(accuracy.worst[k], position, truth, tables[k].cos(position), tables[k].sin(position));
    }
  }
  accuracy.positions += count;
}

// Where a rotation has several axes, a position stands on all of them.
void judge_scattered(Accuracy& accuracy, const Rope& rope, const Frequencies& f, std::int64_t trained) {
  const std::vector<std::int64_t> positions = scattered_positions(f, trained);
  const std::size_t pairs = f.inv_freq.size();
  std::vector<std::int64_t> on_all_axes;
  for (std::size_t a = 0; a < rope.axes.names.size(); ++a) {
    on_all_axes.insert(on_all_axes.end(), positions.begin(), positions.end());
  }
  std::vector<CosSin> values;
  for (const WorstError& worst : accuracy.worst) {
    values.push_back(cos_sin(rope, std::span<const std::int64_t>(on_all_axes), {.isa = worst.isa}));
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::vector<Truth> truth = truths(f, positions[i]);
    for (std::size_t k = 0; k < values.size(); ++k) {
      judge(accuracy.worst[k], positions[i], truth, std::span(values[k].cos).subspan(i * pairs, pairs),
            std::span(values[k].sin).subspan(i * pairs, pairs));
    }
  }
  accuracy.positions += std::ssize(positions);
}

}  // namespace

std::vector<Rope> rotations_by_use(const Plan& plan) {
  std::vector<std::pair<std::int64_t, Rope>> uses;
  for (const Stack& stack : plan.stacks) {
    for (const LayerPlan& layer : stack.layers) {
      for (const Rotate& rotate : layer.rotate) {
        const Rope& r = rope(rotate);
        // Rotations by h and w alone are left out: their positions end with the picture.
        if (std::find(r.axes.names.begin(), r.axes.names.end(), "t") == r.axes.names.end()) continue;
        const auto same = std::find_if(uses.begin(), uses.end(), [&](const auto& use) { return use.second == r; });
        if (same == uses.end()) {
          uses.emplace_back(1, r);
        } else {
          ++same->first;
        }
      }
    }
  }
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Rope> out;
  for (auto& use : uses) out.push_back(std::move(use.second));
  return out;
}

std::vector<std::int64_t> drawn_positions(std::int64_t trained) {
  std::vector<std::int64_t> out;
  std::mt19937_64 random(20212104);
  // As many in each doubling of the length as in any other, the last of which ends with kLargestAngle.
  int doublings = 1;
  while (doublings < 62 && (trained << (doublings - 1)) < kLargestAngle) ++doublings;
  for (std::int64_t i = 0; i < kDrawn; ++i) {
    const std::int64_t scale = std::min(kLargestAngle, trained << (random() % static_cast<std::uint64_t>(doublings)));
    out.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(scale)));
  }
  return out;
}

Accuracy measure_accuracy(const std::vector<Rope>& rotations, std::optional<std::int64_t> trained_length) {
  Accuracy accuracy;
  for (const Isa isa : supported_isas()) accuracy.worst.push_back({.isa = isa});
  // Of a plan that does not say, the second table is the first again. No table passes 2^31.
  const std::int64_t trained = std::clamp<std::int64_t>(trained_length.value_or(kBlock), 1, kLargestAngle - kBlock);
  for (const Rope& rope : rotations) {
    const Frequencies f = frequencies(rope);
    const std::int64_t before = accuracy.positions;
    judge_tables(accuracy, rope, f, 0, kBlock);
    judge_tables(accuracy, rope, f, std::max<std::int64_t>(0, trained - kBlock), kBlock);
    judge_scattered(accuracy, rope, f, trained);
    // Each angle once, though every instruction set has computed it.
    accuracy.angles += (accuracy.positions - before) * rope.pairs();
    ++accuracy.rotations;
  }
  return accuracy;
}

}  // namespace posenc::tool
