#include "diagnose/attention/measured_mask.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "base/formatted.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

// Which keys a query sees, i its place and j the key's.
template <typename Sees>
Seen made_of(const DumpedAttention& dumped, Sees sees) {
  Seen out(dumped.queries * dumped.keys);
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    for (std::size_t j = 0; j < dumped.keys; ++j) {
      out[i * dumped.keys + j] = sees(dumped.q_order[i], dumped.k_order[j], i * dumped.keys + j) ? 1 : 0;
    }
  }
  return out;
}

// How far back and ahead queries see; kUnbounded where no key beyond is hidden.
struct Bounds {
  std::int64_t past = -kUnbounded;
  std::int64_t future = -kUnbounded;
  bool operator==(const Bounds&) const = default;
};

Bounds bounds_of(const DumpedAttention& dumped, const Seen& seen) {
  Bounds out;
  const auto each = [&](auto act) {
    for (std::size_t n = 0; n < seen.size(); ++n) {
      act(dumped.q_order[n / dumped.keys] - dumped.k_order[n % dumped.keys], seen[n] != 0);
    }
  };
  each([&](std::int64_t back, bool is_seen) {
    if (is_seen) out = {std::max(out.past, back), std::max(out.future, -back)};
  });
  bool hides_past = false;
  bool hides_future = false;
  each([&](std::int64_t back, bool is_seen) {
    hides_past = hides_past || (!is_seen && back > out.past);
    hides_future = hides_future || (!is_seen && -back > out.future);
  });
  if (!hides_past) out.past = kUnbounded;
  if (!hides_future) out.future = kUnbounded;
  return out;
}

bool is_within(std::int64_t distance, std::int64_t bound) { return bound == kUnbounded || distance <= bound; }

Seen made_of(const DumpedAttention& dumped, const Bounds& bounds) {
  return made_of(dumped, [&](std::int64_t i, std::int64_t j, std::size_t n) {
    const bool given = dumped.given.empty() || dumped.given[n] != 0;
    return given && is_within(i - j, bounds.past) && is_within(j - i, bounds.future);
  });
}

std::string far_words(std::int64_t bound, const char* side) {
  if (bound == kUnbounded) return formatted("all keys {}", side);
  return formatted("{} {}", bound, side);
}

// The plan's keys without the first `from`.
Seen without_first(const DumpedAttention& dumped, const Seen& plan, std::int64_t from) {
  return made_of(dumped, [&](std::int64_t, std::int64_t j, std::size_t n) { return plan[n] != 0 && j >= from; });
}

// The plan's keys, and among the first `to` all.
Seen with_prefix(const DumpedAttention& dumped, const Seen& plan, std::int64_t to) {
  return made_of(dumped,
                 [&](std::int64_t i, std::int64_t j, std::size_t n) { return plan[n] != 0 || (i < to && j < to); });
}

// ---- several bounds ----

// Sequences packed into one: the first key that each query sees, where that makes runs of queries that see no key from
// before the first of their run. [queries]; nothing where they do not.
std::optional<std::vector<std::int64_t>> starts_of(const DumpedAttention& dumped, const Seen& plan, const Seen& seen) {
  std::vector<std::int64_t> starts(dumped.queries, kUnbounded);
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (seen[n] == 0) continue;
    std::int64_t& start = starts[n / dumped.keys];
    start = std::min(start, dumped.k_order[n % dumped.keys]);
  }
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    if (starts[i] > dumped.q_order[i]) return {};
    for (std::size_t other = 0; other < dumped.queries; ++other) {
      const bool is_within = dumped.q_order[other] >= starts[i] && dumped.q_order[other] <= dumped.q_order[i];
      if (is_within && starts[other] != starts[i]) return {};
    }
  }
  const Seen made = made_of(dumped, [&](std::int64_t, std::int64_t j, std::size_t n) {
    return plan[n] != 0 && j >= starts[n / dumped.keys];
  });
  if (made != seen) return {};
  return starts;
}

void add_packed(const Mask& mask, const DumpedAttention& dumped, const Seen& plan, const Seen& seen,
                std::vector<Change>& out) {
  const auto starts = starts_of(dumped, plan, seen);
  if (!starts) return;
  std::vector<std::int64_t> different = *starts;
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  if (different.size() < 2) return;
  constexpr std::size_t kTold = 4;
  const bool more = different.size() > kTold;
  different.resize(std::min(different.size(), kTold));
  out.push_back({PortFact::mask,
                 formatted("sequences of their own start at {}{}: keys before are hidden", joined(different, ", "),
                           more ? ", ..." : ""),
                 formatted("one sequence, {}", name(mask.kind)),
                 "pass attn_mask where sequences are packed, or do not hide the keys before"});
}

// A window, and the first keys always, as streaming attention has them.
void add_first_kept(const DumpedAttention& dumped, const Seen& plan, const Seen& seen, std::vector<Change>& out) {
  // What is hidden though the plan shows it lies beyond the window, and behind the first keys.
  std::int64_t least_hidden = kUnbounded;
  std::int64_t first_hidden = kUnbounded;
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (plan[n] == 0 || seen[n] != 0) continue;
    least_hidden = std::min(least_hidden, dumped.q_order[n / dumped.keys] - dumped.k_order[n % dumped.keys]);
    first_hidden = std::min(first_hidden, dumped.k_order[n % dumped.keys]);
  }
  if (least_hidden == kUnbounded || first_hidden <= dumped.k_order.front()) return;
  const std::int64_t past = least_hidden - 1;
  const std::int64_t first = first_hidden;
  const Seen made = made_of(dumped, [&](std::int64_t i, std::int64_t j, std::size_t n) {
    return plan[n] != 0 && (i - j <= past || j < first);
  });
  const Seen window =
      made_of(dumped, [&](std::int64_t i, std::int64_t j, std::size_t n) { return plan[n] != 0 && i - j <= past; });
  if (made != seen || window == seen) return;
  out.push_back({PortFact::window, formatted("{} tokens, and keys before {} always", past + 1, first),
                 "the keys that the plan shows", "the layer has no window that spares the first keys"});
}

// ---- searching ----

// Keys that a bound shows one after the other: each from its threshold on.
struct Shown {
  std::int64_t threshold;
  std::size_t key;
};

// The bound that leaves least of the output, every key beyond `always` from its threshold on: the sum over keys grows
// by one key at a time, so that all bounds together cost as much as two of them.
template <typename Always, typename Threshold>
std::optional<std::int64_t> least_bound(const DumpedAttention& dumped, const AttentionTried& plan, const Scores& scores,
                                        Always always, Threshold threshold) {
  // Differences of what is left, from one bound to the next. [bound]
  std::vector<std::pair<std::int64_t, double>> steps;
  std::vector<Shown> shown;
  std::vector<double> sums(dumped.value_dim);
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    shown.clear();
    std::vector<std::size_t> from_first;
    for (std::size_t j = 0; j < dumped.keys; ++j) {
      if (always(i, j)) {
        from_first.push_back(j);
      } else if (const std::optional<std::int64_t> at = threshold(i, j)) {
        shown.push_back({*at, j});
      }
    }
    std::ranges::sort(shown, {}, &Shown::threshold);
    for (std::size_t h = 0; h < dumped.heads; ++h) {
      const double* const z = scores.data() + dumped.at(h, i, 0);
      double largest = plan.sinks.empty() ? -std::numeric_limits<double>::infinity() : plan.sinks[h];
      for (const std::size_t j : from_first) largest = std::max(largest, z[j]);
      for (const Shown& one : shown) largest = std::max(largest, z[one.key]);
      double sum = plan.sinks.empty() ? 0.0 : std::exp(plan.sinks[h] - largest);
      std::ranges::fill(sums, 0.0);
      const double* const out = dumped.out.data() + (i * dumped.heads + h) * dumped.value_dim;
      const std::size_t of = kv_head_of(plan.v_of, dumped, h);
      const auto see = [&](std::size_t j) {
        const double weight = std::exp(z[j] - largest);
        const double* const v = plan.v->data() + (j * dumped.kv_heads + of) * dumped.value_dim;
        sum += weight;
        for (std::size_t c = 0; c < dumped.value_dim; ++c) sums[c] += weight * v[c];
      };
      const auto left = [&] {
        double rest = 0.0;
        for (std::size_t c = 0; c < dumped.value_dim; ++c) {
          const double d = out[c] - (sum > 0 ? sums[c] / sum : 0.0);
          rest += d * d;
        }
        return rest;
      };
      for (const std::size_t j : from_first) see(j);
      double now = left();
      steps.emplace_back(-kUnbounded, now);
      for (std::size_t n = 0; n < shown.size(); ++n) {
        see(shown[n].key);
        if (n + 1 < shown.size() && shown[n + 1].threshold == shown[n].threshold) continue;
        const double next = left();
        steps.emplace_back(shown[n].threshold, next - now);
        now = next;
      }
    }
  }
  std::ranges::sort(steps, {}, &std::pair<std::int64_t, double>::first);
  double now = 0.0;
  double least = std::numeric_limits<double>::infinity();
  std::optional<std::int64_t> best;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    now += steps[n].second;
    if (n + 1 < steps.size() && steps[n + 1].first == steps[n].first) continue;
    if (now >= least || steps[n].first == -kUnbounded) continue;
    least = now;
    best = steps[n].first;
  }
  return best;
}

// What makes all of the mask.
std::vector<Change> rule_words(const Mask& mask, const DumpedAttention& dumped, const Seen& plan, const Seen& seen) {
  std::vector<Change> out;
  if (std::ranges::count(seen, 1) == 0 || seen == plan) return out;
  const Bounds own = bounds_of(dumped, plan);
  const Bounds found = bounds_of(dumped, seen);
  const std::string expected = formatted("{}, {}", far_words(own.past, "before"), far_words(own.future, "after"));
  if (found != own && made_of(dumped, found) == seen && made_of(dumped, own) == plan) {
    if (found.future == own.future) {
      const auto words = [&](const Bounds& of) {
        if (of.past == kUnbounded) return std::string("none");
        const bool causal = mask.kind == MaskKind::causal && of.future == kUnbounded;
        return of.future == 0 || causal
                   ? formatted("{} tokens", of.past + 1)
                   : formatted("{} to the left, {}", of.past, far_words(of.future, "to the right"));
      };
      out.push_back({PortFact::window, words(found), words(own),
                     mask.window ? formatted("a query sees itself and the {} keys before it", mask.window->past)
                                 : std::string("the layer has no window")});
    } else {
      out.push_back(
          {found.past == own.past ? PortFact::mask : PortFact::window,
           formatted("a query sees {}, {}", far_words(found.past, "before"), far_words(found.future, "after")),
           expected, "compare the mask of one query with j <= i"});
    }
  }
  std::int64_t first = kUnbounded;
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (seen[n] != 0) first = std::min(first, dumped.k_order[n % dumped.keys]);
  }
  if (without_first(dumped, plan, first) == seen) {
    out.push_back({PortFact::mask, formatted("keys before {} are hidden, as those of padding are", first),
                   "the keys that the plan shows", "pass attn_mask where these are padding, or do not hide them"});
  }
  add_packed(mask, dumped, plan, seen, out);
  add_first_kept(dumped, plan, seen, out);
  std::int64_t last = -1;
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (seen[n] != 0 && plan[n] == 0) last = std::max(last, dumped.k_order[n % dumped.keys]);
  }
  if (last >= 0 && with_prefix(dumped, plan, last + 1) == seen) {
    out.push_back({PortFact::mask, formatted("keys before {} see each other, as a prefix does", last + 1),
                   std::string(name(mask.kind)), formatted("the mask is {} from the first token on", name(mask.kind))});
  }
  return out;
}

// Places of some queries or keys, at most four: "the query at 7", "the queries at 7, 9, ..."; of a run to the last
// query "queries from 7 on".
std::string places_words(const std::vector<std::int64_t>& places, std::string_view one) {
  constexpr std::size_t kTold = 4;
  std::vector<std::int64_t> few = places;
  few.resize(std::min(few.size(), kTold));
  return formatted("the {} at {}{}", places.size() == 1 ? one : formatted("{}s", one), joined(few, ", "),
                   few.size() < places.size() ? ", ..." : "");
}
std::string queries_words(const std::vector<std::int64_t>& places, std::int64_t last) {
  const bool is_run = places.size() > 1 && places.back() == last &&
                      places.back() - places.front() + 1 == static_cast<std::int64_t>(places.size());
  return is_run ? formatted("queries from {} on", places.front()) : places_words(places, "query");
}

// What queries do that see other keys than the plan shows them, where others see those: a rule of theirs, or, of few
// queries, the keys.
std::vector<Change> some_queries_words(const Mask& mask, const DumpedAttention& dumped, const Seen& plan,
                                       const Seen& seen) {
  constexpr std::size_t kFewOf = 4;  // a quarter of all
  DumpedAttention some{.keys = dumped.keys, .k_order = dumped.k_order};
  Seen of_plan;
  Seen of_seen;
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    const auto from = static_cast<std::ptrdiff_t>(i * dumped.keys);
    const auto to = from + static_cast<std::ptrdiff_t>(dumped.keys);
    if (std::equal(plan.begin() + from, plan.begin() + to, seen.begin() + from)) continue;
    ++some.queries;
    some.q_order.push_back(dumped.q_order[i]);
    of_plan.insert(of_plan.end(), plan.begin() + from, plan.begin() + to);
    of_seen.insert(of_seen.end(), seen.begin() + from, seen.begin() + to);
    if (!dumped.given.empty())
      some.given.insert(some.given.end(), dumped.given.begin() + from, dumped.given.begin() + to);
  }
  if (some.queries == 0 || some.queries == dumped.queries) return {};
  const std::string whose = queries_words(some.q_order, dumped.q_order.back());
  if (kFewOf * some.queries > dumped.queries) {
    std::vector<Change> out = rule_words(mask, some, of_plan, of_seen);
    for (Change& change : out) change.found = formatted("{}: {}", whose, change.found);
    return out;
  }
  std::vector<std::int64_t> more;
  std::vector<std::int64_t> fewer;
  for (std::size_t n = 0; n < of_seen.size(); ++n) {
    if (of_seen[n] == of_plan[n]) continue;
    (of_seen[n] != 0 ? more : fewer).push_back(dumped.k_order[n % dumped.keys]);
  }
  for (std::vector<std::int64_t>* keys : {&more, &fewer}) {
    std::ranges::sort(*keys);
    keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
  }
  std::vector<std::string> parts;
  if (!more.empty()) parts.push_back(formatted("{} too", places_words(more, "key")));
  if (!fewer.empty()) parts.push_back(formatted("not {}", places_words(fewer, "key")));
  return {{PortFact::mask, formatted("{} {} {}", whose, some.queries == 1 ? "sees" : "see", joined(parts, " and ")),
           "the keys that the plan shows", "look at what is other of these tokens: padding, the end of a chunk"}};
}

}  // namespace

std::vector<Change> mask_words(const Mask& mask, const DumpedAttention& dumped, const Seen& plan, const Seen& seen) {
  std::vector<Change> out = rule_words(mask, dumped, plan, seen);
  if (out.empty() && std::ranges::count(seen, 1) > 0) out = some_queries_words(mask, dumped, plan, seen);
  return out;
}

std::optional<Seen> shown_by_weights(const DumpedAttention& dumped, const Seen& plan) {
  Seen out(dumped.queries * dumped.keys, 0);
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    for (std::size_t n = 0; n < out.size(); ++n) {
      if (dumped.weights[h * out.size() + n] > 0) out[n] = 1;
    }
  }
  if (out == plan) return {};
  return out;
}

std::vector<AttentionTried> searched_masks(const Mask& mask, const DumpedAttention& dumped, const AttentionTried& plan,
                                           const Scores& scores) {
  std::vector<AttentionTried> out;
  const Bounds own = bounds_of(dumped, *plan.seen);
  const auto seen = [&](std::size_t i, std::size_t j) { return (*plan.seen)[i * dumped.keys + j] != 0; };
  const auto given = [&](std::size_t i, std::size_t j) {
    return dumped.given.empty() || dumped.given[i * dumped.keys + j] != 0;
  };
  const auto back = [&](std::size_t i, std::size_t j) { return dumped.q_order[i] - dumped.k_order[j]; };
  const auto never = [](std::size_t, std::size_t) { return false; };
  const auto add = [&](const Seen& found) {
    if (std::ranges::any_of(out, [&](const AttentionTried& one) { return *one.seen == found; })) return;
    for (Change& change : mask_words(mask, dumped, *plan.seen, found)) {
      AttentionTried tried = plan;
      tried.change = std::move(change);
      tried.seen = std::make_shared<const Seen>(found);
      tried.of_mask = true;
      tried.first = AttentionStage::weights;
      out.push_back(std::move(tried));
    }
  };
  using Threshold = std::optional<std::int64_t>;
  if (made_of(dumped, own) == *plan.seen) {
    const auto past = least_bound(dumped, plan, scores, never, [&](std::size_t i, std::size_t j) -> Threshold {
      if (!given(i, j) || !is_within(-back(i, j), own.future)) return {};
      return back(i, j);
    });
    if (past) add(made_of(dumped, Bounds{*past, own.future}));
    const auto future = least_bound(dumped, plan, scores, never, [&](std::size_t i, std::size_t j) -> Threshold {
      if (!given(i, j) || !is_within(back(i, j), own.past)) return {};
      return -back(i, j);
    });
    if (future) add(made_of(dumped, Bounds{own.past, *future}));
    if (own.past == own.future) {
      const auto both = least_bound(dumped, plan, scores, never, [&](std::size_t i, std::size_t j) -> Threshold {
        if (!given(i, j)) return {};
        return std::abs(back(i, j));
      });
      if (both) add(made_of(dumped, Bounds{*both, *both}));
    }
  }
  const auto first = least_bound(dumped, plan, scores, never, [&](std::size_t i, std::size_t j) -> Threshold {
    if (!seen(i, j)) return {};
    return -dumped.k_order[j];
  });
  if (first) add(without_first(dumped, *plan.seen, -*first));
  const auto prefix = least_bound(dumped, plan, scores, seen, [&](std::size_t i, std::size_t j) -> Threshold {
    if (!given(i, j)) return {};
    return std::max(dumped.q_order[i], dumped.k_order[j]) + 1;
  });
  if (prefix) add(with_prefix(dumped, *plan.seen, *prefix));
  return out;
}

}  // namespace posenc::inline v0_2::port
