#include "diagnose/positions/position_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "diagnose/noise.h"
#include "math/bfloat16.h"

namespace posenc::inline v0_2::port {
namespace {

using Rows = std::vector<double>;

struct Context {
  const std::vector<DecodedRow>& decoded;
  const ExpectedPlaces& expected;
  double level;

  std::size_t rows() const { return decoded.size(); }
  std::size_t token(std::size_t row) const { return row % static_cast<std::size_t>(expected.tokens); }
  double start() const { return expected.of_row.empty() ? 0.0 : expected.of_row.front(); }

  double tolerance(std::size_t row) const {
    // Decoded from float32 angles at worst: a position is off by as much of itself.
    return decoded[row].spread * std::sqrt(2 * level) + 0x1p-19 * std::fabs(decoded[row].position);
  }
  bool agrees(const Rows& positions) const {
    for (std::size_t r = 0; r < rows(); ++r) {
      if (std::fabs(positions[r] - decoded[r].position) > tolerance(r)) return false;
    }
    return true;
  }
  // Weighted as the positions are known.
  template <typename Function>
  double mean(Function function) const {
    double up = 0.0;
    double down = 0.0;
    for (std::size_t r = 0; r < rows(); ++r) {
      const double weight = 1 / (decoded[r].spread * decoded[r].spread + 1e-300);
      up += weight * function(r);
      down += weight;
    }
    return down > 0 ? up / down : 0.0;
  }
  template <typename Function>
  Rows made(Function function) const {
    Rows out(rows());
    for (std::size_t r = 0; r < rows(); ++r) out[r] = function(r);
    return out;
  }
};

PlacesRule rule(Rows positions, std::vector<Change> changes) {
  return {.places = {.axes = {std::move(positions)}, .changes = std::move(changes)}};
}

PlacesRule stretch(Rows positions, std::vector<Change> changes) {
  PlacesRule out = rule(std::move(positions), std::move(changes));
  out.places.is_stretch = true;
  return out;
}

std::string count_words(const Context& in) {
  return in.expected.counted ? formatted("{} + token", in.start()) : std::string("as given");
}

// ---- One rule each: nothing where it does not make the positions. ----

using Rules = std::vector<PlacesRule>;

Rules as_expected(const Context& in) {
  if (!in.agrees(in.expected.of_row)) return {};
  return {rule(in.expected.of_row, {})};
}

Rules with_offset(const Context& in) {
  const double k =
      std::nearbyint(in.mean([&](std::size_t r) { return in.decoded[r].position - in.expected.of_row[r]; }));
  if (k == 0) return {};
  Rows made = in.made([&](std::size_t r) { return in.expected.of_row[r] + k; });
  if (!in.agrees(made)) return {};
  const auto first = static_cast<std::int64_t>(made.front());
  if (!in.expected.start_known && in.expected.counted) {
    PlacesRule out = rule(std::move(made), {});
    out.first = first;
    out.shifts_start = true;
    return {out};
  }
  return {rule(std::move(made), {offset_change(k, in.start())})};
}

Rules backwards(const Context& in) {
  Rows made = in.made([&](std::size_t r) { return -in.expected.of_row[r]; });
  if (in.agrees(made)) return {rule(std::move(made), {direction_change()})};
  if (!in.expected.counted) return {};
  if (in.expected.start_known) {
    const double k = std::nearbyint(-in.decoded.front().position - in.expected.of_row.front());
    made = in.made([&](std::size_t r) { return -(in.expected.of_row[r] + k); });
    const bool falls_from_zero = in.expected.of_row.front() + k >= 0;  // else these are tokens in reverse
    if (k == 0.0 || !falls_from_zero || !in.agrees(made)) return {};
    return {rule(std::move(made), {direction_change(), offset_change(k, in.start())})};
  }
  const double first = in.decoded.front().position;
  made = in.made([&](std::size_t r) { return first - static_cast<double>(in.token(r)); });
  if (first >= 0 || !in.agrees(made)) return {};  // positions that only fall are tokens in reverse
  PlacesRule out = rule(std::move(made), {direction_change()});
  out.first = static_cast<std::int64_t>(-first);
  out.shifts_start = true;
  return {out};
}

struct Slope {
  double m = 1.0;
  double error = 0.0;
};

// Weighted least squares of p = m e.
Slope slope(const Context& in, const std::function<double(std::size_t)>& of_row, double from) {
  double up = 0.0;
  double down = 0.0;
  for (std::size_t r = 0; r < in.rows(); ++r) {
    const double weight = 1 / (in.tolerance(r) * in.tolerance(r) + 1e-24);
    up += weight * of_row(r) * (in.decoded[r].position - from);
    down += weight * of_row(r) * of_row(r);
  }
  if (!(down > 0)) return {};
  return {up / down, 1 / std::sqrt(down) + 0x1p-19 * std::fabs(up / down)};
}

// The simplest number within the error of a slope.
double rounded_slope(Slope slope) {
  for (const double by : {1.0, 2.0, 4.0, 8.0, 10.0, 100.0}) {
    const double near = std::nearbyint(slope.m * by) / by;
    if (near != 0 && std::fabs(near - slope.m) <= slope.error) return near;
  }
  for (int n = 3; n <= 64; ++n) {  // 1/n, as a scaling factor makes them
    if (std::fabs(1.0 / n - slope.m) <= slope.error) return 1.0 / n;
  }
  return slope.m;
}

Rules scaled(const Context& in) {
  const double m = rounded_slope(slope(
      in, [&](std::size_t r) { return in.expected.of_row[r]; }, 0.0));
  // The other way is a direction, and at another place than expected.
  if (m == 1.0 || m <= 0.0) return {};
  Rows made = in.made([&](std::size_t r) { return m * in.expected.of_row[r]; });
  if (!in.agrees(made)) return {};
  Rules out;
  const bool from_zero = in.start() == 0 || !in.expected.counted;
  if (m == 2.0) {
    out.push_back(rule(made, {{PortFact::rotation, "twice", "once", "rotate queries and keys once"}}));
  }
  if (m == std::nearbyint(m) && from_zero) {
    out.push_back(rule(made, {{PortFact::step, formatted("{}", m), "1", "count positions by 1"}}));
  }
  if (out.empty()) {
    out.push_back(
        stretch(std::move(made), {{PortFact::scaling, formatted("all angles times {}: linear, factor {}", m, 1 / m),
                                   "the plan's angles", "apply the scaling factor as the config says, once"}}));
  }
  return out;
}

Rules steps(const Context& in) {
  if (!in.expected.counted) return {};
  const double from = in.expected.start_known ? in.start() : in.decoded.front().position;
  const double m = rounded_slope(slope(
      in, [&](std::size_t r) { return static_cast<double>(in.token(r)); }, from));
  if (m == 1.0 || m == 0.0) return {};
  Rows made = in.made([&](std::size_t r) { return from + m * static_cast<double>(in.token(r)); });
  if (!in.agrees(made)) return {};
  if (m == -1.0) {
    // Tokens in reverse, unless it is a rotation the other way.
    if (from != static_cast<double>(in.expected.tokens - 1) + in.start() && in.expected.start_known) return {};
    return {rule(std::move(made), {{PortFact::positions, "in reverse: the last token stands first", count_words(in),
                                    "count positions from the first token"}})};
  }
  Change change{PortFact::step, formatted("{}", m), "1", "count positions by 1"};
  return {m == std::nearbyint(m) ? rule(std::move(made), {std::move(change)})
                                 : stretch(std::move(made), {std::move(change)})};
}

Rules repeated(const Context& in) {
  const double mean = in.mean([&](std::size_t r) { return in.decoded[r].position; });
  Rows made(in.rows(), std::nearbyint(mean));
  if (!in.agrees(made)) made.assign(in.rows(), mean);
  const double all = made.front();
  if (all == 0 && in.agrees(made)) return {};  // not rotated, a hypothesis of its own
  if (in.rows() > 1 && in.agrees(made)) {
    return {rule(std::move(made), {{PortFact::repeated, formatted("every token at position {}", all), count_words(in),
                                    "give each token its own position"}})};
  }
  if (!in.expected.counted) return {};
  const double from = in.expected.start_known ? in.start() : in.decoded.front().position;
  const double last = in.decoded[static_cast<std::size_t>(in.expected.tokens - 1)].position - from;
  if (!(last > 0)) return {};
  const double m = std::nearbyint(static_cast<double>(in.expected.tokens - 1) / last);
  Rules out;
  for (const double n : {m - 1, m, m + 1}) {
    if (n < 2) continue;
    made = in.made([&](std::size_t r) { return from + std::floor(static_cast<double>(in.token(r)) / n); });
    if (!in.agrees(made)) continue;
    out.push_back(rule(std::move(made), {{PortFact::repeated, formatted("{} tokens at each position", n),
                                          count_words(in), "count positions by tokens"}}));
  }
  return out;
}

double wrapped(double x, double turn, bool with_sign) {
  const double low = with_sign ? -turn / 2 : 0.0;
  return x - turn * std::floor((x - low) / turn);
}

Rules wraps(const Context& in) {
  struct Type {
    const char* name;
    double turn;
    bool with_sign;
  };
  constexpr std::array<Type, 4> kTypes{Type{"int8", 256, true}, Type{"uint8", 256, false}, Type{"int16", 65536, true},
                                       Type{"uint16", 65536, false}};
  for (const Type& type : kTypes) {
    Rows made = in.made([&](std::size_t r) { return wrapped(in.expected.of_row[r], type.turn, type.with_sign); });
    if (!in.agrees(made)) continue;
    std::size_t first = 0;
    while (first < made.size() && made[first] == in.expected.of_row[first]) ++first;
    return {rule(std::move(made), {{PortFact::positions, formatted("wrapped in {}", type.name), count_words(in),
                                    "hold positions in 32 or 64 bits", first}})};
  }
  return {};
}

Rules short_floats(const Context& in) {
  for (const auto& [name, bits] : {std::pair{"float16", 11}, {"bfloat16", 8}}) {
    const int significant = bits;
    Rows made = in.made([&](std::size_t r) { return to_significant(in.expected.of_row[r], significant); });
    if (!in.agrees(made)) continue;
    std::size_t first = 0;
    while (first < made.size() && made[first] == in.expected.of_row[first]) ++first;
    return {rule(std::move(made), {short_positions_change(name, first)})};
  }
  return {};
}

Rules clamped(const Context& in) {
  double most = in.decoded.front().position;
  for (const DecodedRow& row : in.decoded) most = std::max(most, row.position);
  most = std::nearbyint(most);
  if (most <= in.expected.of_row.front()) return {};  // one position for all, another rule
  Rows made = in.made([&](std::size_t r) { return std::min(in.expected.of_row[r], most); });
  if (!in.agrees(made)) return {};
  std::size_t first = 0;
  while (first < made.size() && made[first] == in.expected.of_row[first]) ++first;
  return {rule(std::move(made), {{PortFact::positions, formatted("clamped at {}", most), count_words(in),
                                  "let positions grow beyond the table, or make the table longer", first}})};
}

Rules over_sequences(const Context& in) {
  if (!in.expected.counted || in.expected.sequences < 2) return {};
  const double from = in.expected.start_known ? in.start() : in.decoded.front().position;
  Rows made = in.made([&](std::size_t r) { return from + static_cast<double>(r); });
  if (!in.agrees(made)) return {};
  return {rule(std::move(made),
               {{PortFact::positions, "counted on from one sequence to the next", "each sequence from its own start",
                 "start positions again in each sequence", static_cast<std::size_t>(in.expected.tokens)}})};
}

// ---- Runs: pieces of a sequence that count by one, or stand still. ----

struct Run {
  std::size_t row;
  double position;
  double by;  // 1 or 0
};

std::vector<Run> runs_of(const Context& in, const Rows& positions) {
  std::vector<Run> runs;
  for (std::size_t r = 0; r < positions.size(); ++r) {
    const bool begins = in.token(r) == 0;
    if (!begins) {
      const double by = positions[r] - positions[r - 1];
      Run& last = runs.back();
      const bool alone = last.row == r - 1;
      if (alone && (by == 1 || by == 0)) last.by = by;
      if (by == last.by) continue;
    }
    runs.push_back({r, positions[r], 1});
  }
  return runs;
}

std::string listed(const Rows& positions) {
  Rows few(positions.begin(),
           positions.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(12, positions.size())));
  return joined(few, ", ") + (positions.size() > few.size() ? ", ..." : "");
}

// What stands still at first and counts from the start then.
std::optional<Change> left_padding(const Context& in, const std::vector<Run>& runs) {
  std::vector<std::size_t> pads;
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t next = i + 1;
    while (next < runs.size() && in.token(runs[next].row) != 0) ++next;
    const std::size_t count = next - i;
    if (count > 2) return {};
    if (count == 2) {
      if (runs[i].by != 0 && runs[i + 1].row - runs[i].row > 1) return {};
      if (runs[i + 1].by != 1 || runs[i + 1].position > in.start() + 1) return {};
      // Pads that stand where the first real token does are one run with it.
      const bool with_first = runs[i].position == in.start() && runs[i + 1].position == in.start() + 1;
      pads.push_back(in.token(runs[i + 1].row) - (with_first ? 1U : 0U));
    } else if (runs[i].position != in.start() || runs[i].by != 1) {
      return {};
    }
    i = next;
  }
  if (pads.empty()) return {};
  return Change{PortFact::positions,
                formatted("padding on the left: positions count from the first real token, {} of the sequence",
                          joined(pads, ", ")),
                count_words(in), "pad on the side that the plan's positions are for, or give positions"};
}

std::optional<Change> restarts(const Context& in, const std::vector<Run>& runs) {
  std::vector<std::size_t> at;
  for (const Run& run : runs) {
    if (in.token(run.row) == 0) continue;
    if (run.position != in.start() || run.by != 1) return {};
    at.push_back(in.token(run.row));
  }
  if (at.empty() || runs.front().position != in.start()) return {};
  std::vector<std::size_t> few(at.begin(),
                               at.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(8, at.size())));
  std::size_t row = 0;
  for (const Run& run : runs) {
    if (in.token(run.row) != 0 && row == 0) row = run.row;
  }
  return Change{PortFact::positions,
                formatted("start again at tokens {}{}", joined(few, ", "), at.size() > few.size() ? ", ..." : ""),
                count_words(in), "count on: add the tokens that are in the cache to the positions of a chunk", row};
}

std::optional<Change> shifted(const Context& in, const std::vector<Run>& runs) {
  if (runs.size() != 2 || runs[0].by != 1 || runs[1].by != 1) return {};
  const double off = runs[1].position - in.expected.of_row[runs[1].row];
  if (runs[0].position != in.expected.of_row[runs[0].row]) return {};
  return Change{PortFact::positions, formatted("off by {} from token {} on", off, in.token(runs[1].row)),
                count_words(in), "positions jump there: look at what begins there (a chunk, a cache shift)",
                runs[1].row};
}

Rules other_positions(const Context& in) {
  Rows made(in.rows());
  for (std::size_t r = 0; r < in.rows(); ++r) {
    if (!in.decoded[r].sure) return {};
    made[r] = in.decoded[r].position;
    if (made[r] != std::nearbyint(made[r])) return {};
  }
  const std::vector<Run> runs = runs_of(in, made);
  std::optional<Change> change = left_padding(in, runs);
  if (!change) change = restarts(in, runs);
  if (!change) change = shifted(in, runs);
  const bool is_list = !change;
  if (!change) {
    std::size_t first = 0;
    while (first < made.size() && made[first] == in.expected.of_row[first]) ++first;
    change = Change{PortFact::positions, listed(made), count_words(in), "give the tokens the plan's positions", first};
  }
  PlacesRule out = rule(std::move(made), {std::move(*change)});
  out.listed = is_list;
  return {std::move(out)};
}

}  // namespace

Change direction_change() {
  return {PortFact::direction, "the other way", "as the plan says",
          "exchange the signs of the two sine terms: (a cos - b sin, b cos + a sin)"};
}

double to_significant(double x, int bits) {
  if (x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, bits - exponent)), exponent - bits);
}

Change short_positions_change(const char* format, std::size_t first_row) {
  const bool is_float = std::string_view(format) == "float32";
  return {PortFact::precision, formatted("{} positions", format),
          is_float ? "integers or float64" : "float32 or integers",
          is_float ? "make positions as integers: float32 holds every second one from 2^24 on"
                   : "make positions as integers or float32",
          first_row};
}

std::optional<Places> rounded_places(Places places, const char* format, int bits) {
  std::optional<std::size_t> first;
  for (std::vector<double>& list : places.axes) {
    for (std::size_t r = 0; r < list.size(); ++r) {
      const double exact = std::exchange(list[r], to_significant(list[r], bits));
      if (list[r] != exact) first = std::min(first.value_or(r), r);
    }
  }
  if (!first) return {};
  places.changes = {short_positions_change(format, *first)};
  return places;
}

Change offset_change(double by, double start) {
  return {PortFact::offset, formatted("{}", by), "0",
          formatted("positions are {} too {}: the first token stands at {}", std::fabs(by), by > 0 ? "large" : "small",
                    start)};
}

std::vector<PlacesRule> position_rules(const std::vector<DecodedRow>& decoded, const ExpectedPlaces& expected,
                                       bool without_rule) {
  if (decoded.empty() || !std::ranges::all_of(decoded, &DecodedRow::holds)) return {};
  // Of one position an offset, a step and a second rotation are the same.
  const bool one_place = std::ranges::all_of(expected.of_row, [&](double x) { return x == expected.of_row.front(); });
  if (one_place && expected.start_known) return {};
  // Not rotated is a hypothesis of its own.
  if (std::ranges::all_of(decoded, [](const DecodedRow& row) { return row.position == 0; })) return {};
  const Context in{decoded, expected, level_of(static_cast<double>(decoded.size()))};
  Rules out;
  for (const auto& make :
       {as_expected, with_offset, backwards, scaled, steps, repeated, wraps, short_floats, clamped, over_sequences}) {
    for (PlacesRule& one : make(in)) out.push_back(std::move(one));
  }
  // Positions that follow no rule are one number for each token: only where no rule makes them.
  if (out.empty() && without_rule) out = other_positions(in);
  return out;
}

}  // namespace posenc::inline v0_2::port
