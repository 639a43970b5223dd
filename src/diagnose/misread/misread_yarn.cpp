#include "diagnose/misread/misread_yarn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {
namespace {

struct Ends {
  double low;   // pairs up to here stay
  double high;  // pairs from here on are divided by the factor
};

// c(turns) `times` as large.
double pair_of(const YarnScaling& yarn, const Rope& rope, double turns, double times) {
  const auto length = static_cast<double>(yarn.original_max_position_embeddings);
  return times * static_cast<double>(rope.dim) * std::log(length / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rope.base));
}

Ends ends_between(const YarnScaling& yarn, const Rope& rope, double low, double high) {
  Ends out{low, high};
  if (yarn.truncate) out = {std::floor(low), std::ceil(high)};
  out = {std::max(out.low, 0.0), std::min(out.high, static_cast<double>(rope.dim - 1))};
  if (out.low == out.high) out.high += 0.001;  // as YaRN's code does, against a ramp of no width
  return out;
}

// 0 is the default too.
double given_or(const std::optional<double>& value, double otherwise) {
  return value.value_or(0.0) != 0.0 ? *value : otherwise;
}
double fast_of(const YarnScaling& yarn) { return given_or(yarn.beta_fast, 32.0); }
double slow_of(const YarnScaling& yarn) { return given_or(yarn.beta_slow, 1.0); }

// The plan's rope with its ramp between other ends; nothing where they are the plan's.
std::optional<FrequencyList> with_ends(const FrequencyList& plan, const Rope& rope, const ChannelPairs& pairs,
                                       const Ends& ends, std::string found) {
  const YarnScaling& yarn = std::get<YarnScaling>(rope.scaling);
  Rope without = rope;
  without.scaling = std::monostate{};
  if (check(without)) return {};
  std::vector<double> f = frequencies(without).inv_freq;
  for (std::size_t p = 0; p < f.size(); ++p) {
    const double ramp = std::clamp((static_cast<double>(p) - ends.low) / (ends.high - ends.low), 0.0, 1.0);
    f[p] = f[p] * (1 - ramp) + f[p] / yarn.factor * ramp;
  }
  f = over_pairs(f, rope, pairs);
  if (f == plan.inv_freq) return {};
  Change change = scaling_change(rope.scaling, rope.scaling);
  change.found = std::move(found);
  return FrequencyList{
      .inv_freq = std::move(f), .attention_factor = plan.attention_factor, .changes = {std::move(change)}};
}

}  // namespace

std::vector<FrequencyList> misread_yarn(const FrequencyList& plan, const Rope& rope, const ChannelPairs& pairs) {
  std::vector<FrequencyList> out;
  const auto* yarn = std::get_if<YarnScaling>(&rope.scaling);
  if (yarn == nullptr) return out;
  const auto add = [&](std::optional<FrequencyList> list) {
    if (list) out.push_back(std::move(*list));
  };
  const auto end = [&](double turns, double times) { return pair_of(*yarn, rope, turns, times); };
  add(with_ends(plan, rope, pairs, ends_between(*yarn, rope, end(slow_of(*yarn), 1), end(fast_of(*yarn), 1)),
                "yarn with beta_fast and beta_slow exchanged"));
  struct Slip {
    const char* found;
    double times;  // of c
    double turns;  // times beta
  };
  using std::numbers::ln10;
  using std::numbers::ln2;
  const std::array<Slip, 9> slips{
      Slip{"yarn, the ramp's ends by log10 of the turns over ln of the base", 1 / ln10, 1.0},
      {"yarn, the ramp's ends by ln of the turns over log10 of the base", ln10, 1.0},
      {"yarn, the ramp's ends by log2 of the turns over ln of the base", 1 / ln2, 1.0},
      {"yarn, the ramp's ends by ln of the turns over log2 of the base", ln2, 1.0},
      {"yarn, the ramp's ends by log2 of the turns over log10 of the base", ln10 / ln2, 1.0},
      {"yarn, the ramp's ends by log10 of the turns over log2 of the base", ln2 / ln10, 1.0},
      {"yarn, the ramp's ends in channels instead of pairs: the 2 beside ln(base) left out", 2.0, 1.0},
      {"yarn, the ramp's ends without 2 pi", 1.0, 1 / (2 * std::numbers::pi)},
      {"yarn, the ramp's ends by the base instead of its logarithm", std::log(rope.base) / rope.base, 1.0}};
  for (const Slip& slip : slips) {
    const double low = end(slip.turns * fast_of(*yarn), slip.times);
    const double high = end(slip.turns * slow_of(*yarn), slip.times);
    add(with_ends(plan, rope, pairs, ends_between(*yarn, rope, low, high), slip.found));
  }
  return out;
}

std::vector<FrequencyList> fitted_yarn(const FreeFrequencies& measured, const FrequencyList& plan, const Rope& rope,
                                       const ChannelPairs& pairs) {
  std::vector<FrequencyList> out;
  const auto* yarn = std::get_if<YarnScaling>(&rope.scaling);
  Rope without = rope;
  without.scaling = std::monostate{};
  if (yarn == nullptr || !(yarn->factor > 1) || check(without)) return out;
  std::vector<double> plain = frequencies(without).inv_freq;
  std::vector<double> numbers(plain.size());
  for (std::size_t p = 0; p < numbers.size(); ++p) numbers[p] = static_cast<double>(p);
  plain = over_pairs(plain, rope, pairs);
  numbers = over_pairs(numbers, rope, pairs);
  // The line through what the ramp is of the pairs within it, by least squares: ramp = a + b p.
  double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (std::size_t p = 0; p < plain.size(); ++p) {
    if (!(plain[p] > 0)) continue;
    const double scale = plain[p] * (1 - 1 / yarn->factor);
    const double ramp = (plain[p] - measured.inv_freq[p]) / scale;
    const double spread = measured.spread[p] / scale;
    if (!(spread < 0.05) || ramp < 0.02 + 3 * spread || ramp > 0.98 - 3 * spread) continue;
    const double weight = 1 / std::max(spread * spread, 1e-10);
    n += weight;
    sx += weight * numbers[p];
    sy += weight * ramp;
    sxx += weight * numbers[p] * numbers[p];
    sxy += weight * numbers[p] * ramp;
  }
  const double down = n * sxx - sx * sx;
  if (!(down > 1e-9 * n * sxx)) return out;
  const double slope = (n * sxy - sx * sy) / down;
  const double at_zero = (sy - slope * sx) / n;
  if (!(slope > 0)) return out;
  const Ends any{-at_zero / slope, (1 - at_zero) / slope};
  const Ends whole{std::nearbyint(any.low), std::nearbyint(any.high)};
  for (const Ends& ends : {whole, any}) {
    auto list =
        with_ends(plan, rope, pairs, ends, formatted("yarn, its ramp from pair {:.4g} to {:.4g}", ends.low, ends.high));
    if (!list) continue;
    list->fitted = true;
    out.push_back(std::move(*list));
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
