#include "diagnose/heads_apart.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/axis_maps.h"
#include "diagnose/noise.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {
namespace {

// Heads that are looked at: of as many what they do is a pattern.
constexpr std::int64_t kHeads = 32;

Samples one_head(const Samples& samples, std::int64_t head) {
  Samples out = samples;
  out.heads = 1;
  out.before.clear();
  out.after.clear();
  for (std::int64_t r = 0; r < samples.rows(); ++r) {
    out.before.insert(out.before.end(), samples.x(r, head), samples.x(r, head) + samples.channels);
    out.after.insert(out.after.end(), samples.y(r, head), samples.y(r, head) + samples.channels);
  }
  return out;
}

std::string numbers_of(const std::vector<std::int64_t>& heads) {
  std::vector<std::int64_t> few(heads.begin(),
                                heads.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(8, heads.size())));
  return formatted("{}{}", joined(few, ", "), heads.size() > few.size() ? ", ..." : "");
}

}  // namespace

std::optional<HeadsApart> heads_apart(const Samples& samples, const ChannelPairs& pairs, const Expectation& expected) {
  if (!expected.rope || samples.heads < 2) return {};
  const std::optional<FrequencyList> plan = frequency_list(*expected.rope, expected.length, pairs, {});
  if (!plan) return {};
  const FrequencyList none{.inv_freq = std::vector<double>(plan->inv_freq.size(), 0.0)};
  const Places places = expected.places();
  Places doubled = places;
  for (std::vector<double>& list : doubled.axes) {
    for (double& x : list) x *= 2;
  }
  const std::vector<std::int32_t> axes = axes_over(expected.rope->axes.of_pair, *expected.rope, pairs);
  std::vector<std::int64_t> rotated;
  std::vector<std::int64_t> still;
  std::vector<std::int64_t> twice;
  double rest = 0.0;
  double rest_further = 0.0;
  bool all_further = true;
  bool all_known = true;
  const std::int64_t heads = std::min(samples.heads, kHeads);
  for (std::int64_t h = 0; h < heads && (all_further || all_known); ++h) {
    const MeasuredTable table = measure(one_head(samples, h), pairs);
    // What is named has to fit at one in a thousand.
    const Judged by_plan = judge(table, {&*plan, &places, &axes}, {.error = kUnnamed});
    const Judged by_none = judge(table, {&none, &places, &axes}, {.error = kUnnamed});
    const Judged by_two = judge(table, {&*plan, &doubled, &axes}, {.error = kUnnamed});
    const double least = std::min({by_plan.rest, by_none.rest, by_two.rest});
    if (by_plan.holds && by_plan.rest <= least) {
      rotated.push_back(h);
    } else if (by_none.holds && by_none.rest <= least) {
      still.push_back(h);
    } else if (by_two.holds && by_two.rest <= least) {
      twice.push_back(h);
    } else {
      all_known = false;
    }
    rest += least;
    Places further = places;
    for (std::vector<double>& list : further.axes) {
      for (double& x : list) x += static_cast<double>(h);
    }
    const Judged by_further = judge(table, {&*plan, &further, &axes}, {.error = kUnnamed});
    all_further = all_further && by_further.holds;
    rest_further += by_further.rest;
  }
  if (all_known && !rotated.empty() && still.empty() != twice.empty()) {
    return HeadsApart{{PortFact::rotation,
                       twice.empty() ? formatted("none in heads {}", numbers_of(still))
                                     : formatted("twice in heads {}", numbers_of(twice)),
                       "once in all heads", "rotate every head once: look at how the kernel's grid counts them"},
                      rest};
  }
  if (all_further) {
    return HeadsApart{{PortFact::layout, "head h of token t stands at t + h", "all heads of a token at its position",
                       "give the rotation its tensor with tokens and heads in the order that it expects"},
                      rest_further};
  }
  return {};
}

}  // namespace posenc::inline v0_2::port
