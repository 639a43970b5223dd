#include "diagnose/words/explain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/formatted.h"
#include "diagnose/axis_maps.h"
#include "diagnose/directed.h"
#include "diagnose/fitted_lists.h"
#include "diagnose/free_frequencies.h"
#include "diagnose/noise.h"
#include "diagnose/other_places.h"
#include "diagnose/screen.h"
#include "diagnose/weighing.h"

namespace posenc::inline v0_2::port {
namespace {

// Lists of frequencies that are good enough to have positions decoded with them, at most.
constexpr std::size_t kDecodedLists = 12;

std::vector<Change> joined_changes(std::vector<Change> a, const std::vector<Change>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

FrequencyList not_rotated(std::size_t pairs) {
  return {.inv_freq = std::vector<double>(pairs, 0.0),
          .changes = {{PortFact::rotation, "none, or every token at position 0", "once",
                       "rotate queries and keys, each token by its own position"}}};
}

// ---- Positions as expected ----

std::vector<Explanation> at_expected_places(const Screen& screen, const std::vector<FrequencyList>& lists,
                                            const std::vector<AxisChoice>& axes, const Expectation& expected) {
  std::vector<Explanation> out;
  const Places places = expected.places();
  const auto add = [&](const FrequencyList& list, const AxisChoice& axis, Steps steps,
                       const std::vector<Change>& more) {
    if (!screen.holds(list, places, axis.of_pair, steps)) return;
    out.push_back({.frequencies = list,
                   .places = places,
                   .axis_of_pair = axis.of_pair,
                   .changes = joined_changes(joined_changes(list.changes, axis.changes), more),
                   .steps = steps,
                   .first_position = static_cast<std::int64_t>(expected.start),
                   .guess = list.guess});
  };
  for (const FrequencyList& list : lists) add(list, axes.front(), Steps::exact, {});
  for (std::size_t i = 1; i < axes.size() && !lists.empty(); ++i) add(lists.front(), axes[i], Steps::exact, {});
  return out;
}

// The plan in arithmetic that is coarser than float32: its own fact, precision, is found by precision.h; here it only
// has to hold.
std::vector<Explanation> in_coarse_steps(const Screen& screen, const FrequencyList& plan, const AxisChoice& axis,
                                         const Expectation& expected) {
  std::vector<Explanation> out;
  const Places places = expected.places();
  for (int i = 0; i < kSteps; ++i) {
    const auto steps = static_cast<Steps>(i);
    if (steps == Steps::exact || steps == Steps::float32 || steps == Steps::float32_table) continue;
    if (!screen.holds(plan, places, axis.of_pair, steps)) continue;
    out.push_back({.frequencies = plan,
                   .places = places,
                   .axis_of_pair = axis.of_pair,
                   .steps = steps,
                   .first_position = static_cast<std::int64_t>(expected.start)});
  }
  return out;
}

// ---- Positions decoded ----

std::vector<Explanation> at_decoded_places(const MeasuredTable& table, const Screen& screen,
                                           const std::vector<FrequencyList>& lists, const AxisChoice& axis,
                                           const Expectation& expected) {
  std::vector<Explanation> out;
  if (expected.axes.size() > 1 && !axis.of_pair.empty() && !expected.counted) return out;
  std::size_t decoded = 0;
  for (const FrequencyList& list : lists) {
    if (decoded >= kDecodedLists) break;
    if (!screen.decodes(list, expected.axes.front())) continue;
    ++decoded;
    const PositionDecoder decoder(table, list);
    const ExpectedPlaces along = expected.along(0, table);
    // Positions without a rule are a number for each token: nothing else may be other than the plan says.
    const bool any = list.changes.empty();
    for (PlacesRule& found : position_rules(decoder.decode_all(along.of_row), along, any)) {
      const Places& places = found.places;
      if (!judge(table, {&list, &places, nullptr, Steps::exact}).holds) continue;
      out.push_back({.frequencies = list,
                     .places = places,
                     .changes = joined_changes(list.changes, places.changes),
                     .first_position = found.shifts_start ? found.first : static_cast<std::int64_t>(expected.start),
                     .shifts_start = found.shifts_start,
                     .listed = found.listed});
    }
  }
  return out;
}

// Whether positions that it lists, or that go in other steps, may be those of other frequencies: of a linear rule that
// is left out every position is the factor times as far.
bool says_any_positions(const Explanation& e) {
  return e.listed || std::ranges::any_of(e.places.changes, [](const Change& change) {
           return change.fact == PortFact::step || change.fact == PortFact::rotation;
         });
}

// Lists that are not among those that hold.
std::vector<FrequencyList> others_than(const std::vector<FrequencyList>& lists, const std::vector<Explanation>& found) {
  std::vector<FrequencyList> out;
  for (const FrequencyList& list : lists) {
    const bool held =
        std::ranges::any_of(found, [&](const Explanation& e) { return e.frequencies.inv_freq == list.inv_freq; });
    if (!held) out.push_back(list);
  }
  return out;
}

// The plan's frequencies one position before and after the expected ones, where it was said which these are; and at
// positions of which float32 holds no more than every second, from 2^24 on.
std::vector<Explanation> at_neighbouring_places(const Screen& screen, const FrequencyList& plan, const AxisChoice& axis,
                                                const Expectation& expected) {
  std::vector<Explanation> out;
  const auto add = [&](const Places& places) {
    if (!screen.holds(plan, places, axis.of_pair)) return;
    out.push_back({.frequencies = plan,
                   .places = places,
                   .axis_of_pair = axis.of_pair,
                   .changes = places.changes,
                   .first_position = static_cast<std::int64_t>(expected.start)});
  };
  if (auto places = rounded_places(expected.places(), "float32", 24)) add(*places);
  if (!expected.start_known || !expected.counted) return out;
  for (const double k : {-1.0, 1.0}) {
    Places places = expected.places();
    for (std::vector<double>& list : places.axes) {
      for (double& x : list) x += k;
    }
    places.changes = {offset_change(k, expected.start)};
    add(places);
  }
  return out;
}

// The plan's frequencies at other coordinates, of tokens that have several.
std::vector<Explanation> at_other_places(const MeasuredTable& table, const Screen& screen, const FrequencyList& plan,
                                         const AxisChoice& axis, const Expectation& expected) {
  std::vector<Explanation> out;
  for (const Places& places : other_places(table, plan, axis.of_pair, expected)) {
    if (!screen.holds(plan, places, axis.of_pair)) continue;
    out.push_back({.frequencies = plan,
                   .places = places,
                   .axis_of_pair = axis.of_pair,
                   .changes = places.changes,
                   .first_position = static_cast<std::int64_t>(expected.start)});
  }
  return out;
}

// Of tokens that have several coordinates, other frequencies the other way round: two things at once.
std::vector<Explanation> the_other_way(const Screen& screen, const std::vector<FrequencyList>& lists,
                                       const AxisChoice& axis, const Expectation& expected) {
  if (expected.axes.size() < 2) return {};
  Expectation turned = expected;
  for (std::vector<double>& list : turned.axes) {
    for (double& x : list) x = -x;
  }
  std::vector<Explanation> out = at_expected_places(screen, lists, {axis}, turned);
  for (Explanation& e : out) {
    e.places.changes = {direction_change()};
    e.changes.push_back(direction_change());
  }
  return out;
}

// The plan's frequencies at coordinates that are measured axis by axis, each from its own pairs.
std::vector<Explanation> at_decoded_axes(const MeasuredTable& table, const FrequencyList& plan, const AxisChoice& axis,
                                         const Expectation& expected) {
  std::vector<Explanation> out;
  if (auto places = decoded_axes(table, plan, axis.of_pair, expected)) {
    if (!judge(table, {&plan, &*places, &axis.of_pair}).holds) return out;
    out.push_back({.frequencies = plan,
                   .places = *places,
                   .axis_of_pair = axis.of_pair,
                   .changes = places->changes,
                   .first_position = static_cast<std::int64_t>(expected.start)});
  }
  return out;
}

// ---- Where something else begins ----

// The row from which on `late` leaves less than `early`, so that the sum of both is least: 0 or all where one does
// everywhere.
std::size_t change_of_rows(const std::vector<double>& early, const std::vector<double>& late) {
  double now = 0.0;
  for (const double rest : late) now += rest;
  double least = now;
  std::size_t first = 0;
  for (std::size_t r = 0; r < early.size(); ++r) {
    now += early[r] - late[r];
    if (now >= least) continue;
    least = now;
    first = r + 1;
  }
  return first;
}

// The plan up to a row and another list from there on, or the other way round.
std::vector<Explanation> from_a_row_on(const MeasuredTable& table, const std::vector<FrequencyList>& lists,
                                       const AxisChoice& axis, const Expectation& expected) {
  std::vector<Explanation> out;
  if (table.rows < 2) return out;
  const Places places = expected.places();
  const FrequencyList& plan = lists.front();
  const Judged by_plan = judge(table, {&plan, &places, &axis.of_pair});
  std::vector<std::size_t> failing;
  for (std::size_t r = 0; r < table.rows; ++r) {
    if (by_plan.row_holds[r] == 0) failing.push_back(r);
  }
  if (failing.empty() || failing.size() == table.rows) return out;
  const Screen screen(table, failing);
  const auto rests = [&](const FrequencyList& list) {
    const auto z = predicted(table, {&list, &places, &axis.of_pair});
    std::vector<double> sums(table.rows, 0.0);
    for (std::size_t r = 0; r < table.rows; ++r) {
      for (std::size_t p = 0; p < table.pairs; ++p) {
        const std::size_t cell = table.at(r, p);
        sums[r] += table.weight[cell] * std::norm(z[cell] - table.c[cell]) / table.variance(cell);
      }
    }
    return sums;
  };
  const auto holds_in = [&](const FrequencyList& list, std::size_t from, std::size_t to) {
    std::vector<char> rows(table.rows, 0);
    std::fill(rows.begin() + static_cast<std::ptrdiff_t>(from), rows.begin() + static_cast<std::ptrdiff_t>(to), 1);
    return judge(table, {&list, &places, &axis.of_pair}, {.rows = rows}).holds;
  };
  const std::vector<double> of_plan = rests(plan);
  for (std::size_t i = 1; i < lists.size(); ++i) {
    const FrequencyList& list = lists[i];
    if (!screen.holds(list, places, axis.of_pair)) continue;
    const std::vector<double> of_list = rests(list);
    const std::size_t on = change_of_rows(of_plan, of_list);
    if (on > 0 && on < table.rows && holds_in(plan, 0, on) && holds_in(list, on, table.rows)) {
      Explanation found{.frequencies = list,
                        .places = places,
                        .axis_of_pair = axis.of_pair,
                        .changes = list.changes,
                        .first_row = on,
                        .first_position = static_cast<std::int64_t>(expected.start)};
      for (Change& change : found.changes) change.first_row = on;
      out.push_back(std::move(found));
      continue;
    }
    const std::size_t end = change_of_rows(of_list, of_plan);
    if (end == 0 || end == table.rows || !holds_in(list, 0, end) || !holds_in(plan, end, table.rows)) continue;
    Explanation found{.frequencies = list,
                      .places = places,
                      .axis_of_pair = axis.of_pair,
                      .changes = list.changes,
                      .first_row = 0,
                      .end_row = end,
                      .first_position = static_cast<std::int64_t>(expected.start)};
    for (Change& change : found.changes) {
      change.found += formatted(", up to token {}", end % static_cast<std::size_t>(table.tokens));
    }
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace

Explained explain(const MeasuredTable& table, const ChannelPairs& pairs, const Expectation& expected) {
  const Rope& rope = *expected.rope;
  std::vector<FrequencyList> lists = tried_frequencies(rope, expected.length, expected.plan, pairs);
  if (lists.empty()) return {};
  const double planned = lists.front().attention_factor;
  lists.push_back(not_rotated(table.pairs));
  const std::vector<AxisChoice> axes = axis_choices(rope, pairs);
  const Screen screen(table, all_rows(table));
  std::vector<Explanation> found = at_expected_places(screen, lists, axes, expected);
  const auto add = [&](std::vector<Explanation> more) {
    for (Explanation& e : more) found.push_back(std::move(e));
  };
  const auto suspicion_of = [&](const Explanation& e) {
    return suspicion(table, {&e.frequencies, &e.places, &e.axis_of_pair, e.steps});
  };
  const Explanation plan{
      .frequencies = lists.front(), .places = expected.places(), .axis_of_pair = axes.front().of_pair};
  if (!found.empty() && found.front().changes.empty()) {
    // Noise hides small shifts from a test of the plan alone, not from a comparison.
    add(at_neighbouring_places(screen, lists.front(), axes.front(), expected));
    add(at_other_places(table, screen, lists.front(), axes.front(), expected));
    const Suspicion of_plan = suspicion_of(found.front());
    if (of_plan == Suspicion::wrong) {
      found.erase(found.begin());
    } else {
      Explained held = weighed(table, found, &plan, planned);
      held.suspect = of_plan == Suspicion::open;
      if (!held.as_good.empty() && held.as_good.front().changes.empty()) return held;
    }
  }
  add(in_coarse_steps(screen, lists.front(), axes.front(), expected));
  // Other positions of the plan's frequencies compete with other frequencies; of others they come after.
  add(at_decoded_places(table, screen, {lists.front()}, axes.front(), expected));
  add(at_other_places(table, screen, lists.front(), axes.front(), expected));
  if (found.empty()) {
    if (const auto measured = measured_axes(table, lists.front(), expected.places(), rope, pairs)) {
      add(at_expected_places(screen, {lists.front()}, {axes.front(), *measured}, expected));
    }
  }
  if (found.empty()) add(the_other_way(screen, lists, axes.front(), expected));
  if (found.empty()) add(at_decoded_axes(table, lists.front(), axes.front(), expected));
  if (std::ranges::all_of(found, says_any_positions)) {
    std::vector<Explanation> others =
        at_decoded_places(table, screen, others_than(lists, found), axes.front(), expected);
    if (!others.empty()) std::erase_if(found, [](const Explanation& e) { return e.listed; });
    add(std::move(others));
  }
  if (found.empty()) {
    const std::vector<FrequencyList> fitted = fitted_lists(table, screen, rope, pairs, expected, axes.front().of_pair);
    add(at_expected_places(screen, fitted, {axes.front()}, expected));
    if (found.empty()) add(at_decoded_places(table, screen, fitted, axes.front(), expected));
  }
  // A number for each token explains whatever begins somewhere.
  if (std::ranges::all_of(found, &Explanation::listed)) {
    std::vector<Explanation> later = from_a_row_on(table, lists, axes.front(), expected);
    if (!later.empty()) found = std::move(later);
  }
  Explained out = weighed(table, std::move(found), &plan, planned);
  std::erase_if(out.as_good, [&](const Explanation& e) {
    return !e.first_row && !e.changes.empty() && suspicion_of(e) == Suspicion::wrong;
  });
  return out;
}

Explained recover(const MeasuredTable& table, const ChannelPairs& pairs, const Expectation& expected) {
  const Screen screen(table, all_rows(table));
  const std::vector<AxisChoice> axes{{}};
  std::vector<Explanation> found = at_expected_places(screen, {not_rotated(table.pairs)}, axes, expected);
  std::vector<std::int64_t> dims{pairs.dim};
  const FreeFrequencies measured = free_frequencies(table);
  std::size_t rotating = 0;
  for (std::size_t p = 0; p < table.pairs; ++p) {
    if (std::fabs(measured.inv_freq[p]) > 5 * measured.spread[p]) rotating = p + 1;
  }
  if (pairs.in == Pairing::interleaved) {
    for (const std::int64_t dim : {2 * static_cast<std::int64_t>(rotating), pairs.dim / 4 * 2, pairs.dim / 8 * 2}) {
      if (dim >= 2 && std::ranges::find(dims, dim) == dims.end()) dims.push_back(dim);
    }
  }
  for (const std::int64_t dim : dims) {
    const Rope plain{
        .pairing = pairs.in, .head_dim = pairs.first + pairs.dim, .first_channel = pairs.first, .dim = dim};
    std::vector<FrequencyList> lists;
    for (const double base : kKnownBases) {
      Rope rope = plain;
      rope.base = base;
      if (auto list = frequency_list(rope, expected.length, pairs, {})) lists.push_back(std::move(*list));
    }
    for (FrequencyList& list : fitted_lists(table, screen, plain, pairs, expected, {})) {
      list.changes.clear();
      lists.push_back(std::move(list));
    }
    // The rules that configs scale these bases with: one more thing than a base alone.
    for (const double base : {10000.0, 500000.0, 1e6, 150000.0}) {
      Rope rope = plain;
      rope.base = base;
      for (FrequencyList& list : tried_frequencies(rope, expected.length, nullptr, pairs)) {
        if (!list.rope || list.rope->scaling == Scaling{} || list.rope->dim != dim) continue;
        lists.push_back(std::move(list));
      }
    }
    for (Explanation& e : at_expected_places(screen, lists, axes, expected)) found.push_back(std::move(e));
    if (found.empty()) {
      for (Explanation& e : at_decoded_places(table, screen, lists, axes.front(), expected)) {
        found.push_back(std::move(e));
      }
    }
    if (!found.empty()) break;
  }
  return weighed(table, std::move(found), nullptr, 1.0);
}

}  // namespace posenc::inline v0_2::port
