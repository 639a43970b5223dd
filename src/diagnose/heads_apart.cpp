#include "diagnose/heads_apart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/axis_maps.h"
#include "diagnose/noise.h"
#include "diagnose/tried_frequencies.h"
#include "diagnose/weighing.h"
#include "diagnose/words/few.h"

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

// One head's table. Its own noise is not known from few tokens; that of all heads is, where they share their angles.
MeasuredTable table_of_head(const Samples& samples, std::int64_t head, const ChannelPairs& pairs,
                            const MeasuredTable* shared) {
  MeasuredTable out = measure(one_head(samples, head), pairs);
  if (shared == nullptr) return out;
  out.common = shared->common;
  out.by_weight = shared->by_weight * static_cast<double>(samples.heads);
  out.pair_freedom = shared->pair_freedom;
  return out;
}

// What a head does by itself: as the plan, nothing, or that twice.
constexpr std::size_t kAlone = 3;

// How much less of what explains all heads has to be left for it to be taken, where each of so many is one of these.
double evidence(std::int64_t heads) {
  return 2 * (level_of(1) + static_cast<double>(heads) * std::log(static_cast<double>(kAlone)));
}

}  // namespace

std::optional<HeadsApart> heads_apart(const Samples& samples, const ChannelPairs& pairs, const MeasuredTable* shared,
                                      const Expectation& expected) {
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
  const auto explanation = [&](const FrequencyList& list, const Places& at) {
    return Explanation{.frequencies = list, .places = at, .axis_of_pair = axes};
  };
  const std::array<Explanation, kAlone> alone{explanation(*plan, places), explanation(none, places),
                                              explanation(*plan, doubled)};
  std::array<std::vector<std::int64_t>, kAlone> heads_of;
  HeadsApart known;
  HeadsApart further;
  bool all_further = true;
  bool all_known = true;
  const std::int64_t heads = std::min(samples.heads, kHeads);
  for (std::int64_t h = 0; h < heads && (all_further || all_known); ++h) {
    const MeasuredTable table = table_of_head(samples, h, pairs, shared);
    // What is named has to fit at one in a thousand, and only what does is compared.
    const auto judged = [&](const Explanation& e) {
      return judge(table, {&e.frequencies, &e.places, &e.axis_of_pair}, {.error = kUnnamed});
    };
    std::optional<std::size_t> best;
    double rest = 0.0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < kAlone; ++i) {
      const Judged by = judged(alone[i]);
      if (!by.holds) continue;
      const double m = misfit(table, alone[i], Steps::exact);
      if (m >= least) continue;
      best = i;
      rest = by.rest;
      least = m;
    }
    if (best) {
      heads_of[*best].push_back(h);
      known.rest += rest;
      known.misfit += least;
    }
    all_known = all_known && best.has_value();
    Explanation own = alone.front();
    for (std::vector<double>& list : own.places.axes) {
      for (double& x : list) x += static_cast<double>(h);
    }
    const Judged by_own = judged(own);
    all_further = all_further && by_own.holds;
    further.rest += by_own.rest;
    further.misfit += misfit(table, own, Steps::exact);
  }
  const auto& [rotated, still, twice] = heads_of;
  const bool is_known = all_known && !rotated.empty() && still.empty() != twice.empty();
  if (is_known && !(all_further && further.misfit < known.misfit)) {
    known.change = {PortFact::rotation,
                    twice.empty() ? formatted("none in heads {}", few_of(still))
                                  : formatted("twice in heads {}", few_of(twice)),
                    "once in all heads", "rotate every head once: look at how the kernel's grid counts them"};
    return known;
  }
  if (all_further) {
    further.change = {PortFact::layout, "head h of token t stands at t + h", "all heads of a token at its position",
                      "give the rotation its tensor with tokens and heads in the order that it expects"};
    return further;
  }
  return {};
}

Against against_shared(const Samples& samples, const ChannelPairs& pairs, const MeasuredTable& shared,
                       const HeadsApart& apart, const Explained& explained) {
  const std::int64_t heads = std::min(samples.heads, kHeads);
  std::vector<double> misfits(explained.as_good.size(), 0.0);
  for (std::int64_t h = 0; h < heads; ++h) {
    const MeasuredTable table = table_of_head(samples, h, pairs, &shared);
    for (std::size_t i = 0; i < misfits.size(); ++i) {
      const Explanation& e = explained.as_good[i];
      // Of a part of the rows the plan has the others.
      if (e.first_row) return Against::less;
      misfits[i] += misfit(table, e, e.steps);
    }
  }
  const double gap = std::ranges::min(misfits) - apart.misfit;
  return gap > evidence(heads) ? Against::more : gap > -evidence(heads) ? Against::as_much : Against::less;
}

}  // namespace posenc::inline v0_2::port
