// Which distances i - j occur in a call, from the smallest and largest positions of its sequences and the mask, so that
// tables by distance are no longer than they must be.
#include "cpu/lower/distances.h"

#include <cmath>
#include <span>

#include "base/checked.h"
#include "base/formatted.h"
#include "cpu/lower/lower.h"
#include "cpu/lower/weight_reader.h"
#include "posenc/error.h"
#include "posenc/input.h"

namespace posenc::cpu {
namespace {

struct PositionExtent {
  double least;
  double largest;
};

// Of one sequence's rows. They may lie between whole numbers, all in the same way as `base` does.
PositionExtent extent(std::span<const double> rows, double base) {
  PositionExtent out{rows.front(), rows.front()};
  for (const double x : rows) {
    out = {std::min(out.least, x), std::max(out.largest, x)};
    if (x - base == std::floor(x - base)) continue;
    throw Error("lower", {"positions", "have whole distances, for a table of them", formatted("{} and {}", base, x)});
  }
  return out;
}

// Where positions are the orders, or all of them as far beyond, masks hide distances: a table needs no entries for
// them.
DistanceRange visible(const Lowering& lowering, const math::SequenceRows& s, std::span<const double> q,
                      std::span<const double> k, DistanceRange all) {
  const auto beyond_order = [](std::span<const double> rows, const std::vector<std::int64_t>& orders,
                               std::int64_t first, double by) {
    for (std::size_t t = 0; t < rows.size(); ++t) {
      if (rows[t] != static_cast<double>(orders[index(first) + t]) + by) return false;
    }
    return true;
  };
  const double by = q.front() - static_cast<double>(lowering.rows.q_order[index(s.q_first)]);
  if (!beyond_order(q, lowering.rows.q_order, s.q_first, by)) return all;
  if (!beyond_order(k, lowering.rows.k_order, s.k_first, by)) return all;
  return seen_by(lowering.layer.mask, all);
}

}  // namespace

// Only causal masks and windows shorten the range. It keeps at least one distance: what is clamped stays within `all`.
DistanceRange seen_by(const Mask& mask, DistanceRange all) {
  std::int64_t low = mask.kind == MaskKind::causal ? 0 : all.low;
  std::int64_t high = all.high;
  if (mask.window) {
    low = std::max(low, -mask.window->future);
    high = std::min(high, mask.window->past);
  }
  return {std::clamp(low, all.low, all.high), std::clamp(high, all.low, all.high)};
}

// The union over the sequences of what each has between its positions. A prepared layer has no tokens: `within` stands
// for what a call would find.
DistanceRange distances(const Lowering& lowering, std::int64_t coordinate) {
  if (lowering.within) return *lowering.within;
  const math::Coordinate& at = lowering.out.coordinates[index(coordinate)];
  bool occurs = false;
  DistanceRange out{0, 0};
  for (const math::SequenceRows& s : lowering.rows.sequences) {
    if (s.q_count == 0 || s.k_count == 0) continue;
    const std::span q = std::span(at.q).subspan(index(s.q_first), index(s.q_count));
    const std::span k = std::span(at.k).subspan(index(s.k_first), index(s.k_count));
    const PositionExtent queries = extent(q, k.front());
    const PositionExtent keys = extent(k, k.front());
    const DistanceRange here = visible(lowering, s, q, k,
                                       {static_cast<std::int64_t>(queries.least - keys.largest),
                                        static_cast<std::int64_t>(queries.largest - keys.least)});
    out = occurs ? DistanceRange{std::min(out.low, here.low), std::max(out.high, here.high)} : here;
    occurs = true;
  }
  return out;
}

void require_table(std::int64_t entries, std::int64_t numbers, std::int64_t bytes_of_number) {
  const auto count = checked_multiply(static_cast<std::uint64_t>(entries), static_cast<std::uint64_t>(numbers));
  const auto bytes = count ? checked_multiply(*count, static_cast<std::uint64_t>(bytes_of_number)) : count;
  if (bytes && *bytes <= static_cast<std::uint64_t>(kMaxTableBytes)) return;
  throw Error("lower", {"positions", formatted("have distances for a table of at most {} bytes", kMaxTableBytes),
                        bytes ? formatted("{} bytes", *bytes) : "more than 2^64 bytes"});
}

// Tables here ascend by i - j, NEZHA's by j - i: hence from the last place down.
std::vector<double> shaw_sines(std::int64_t count, std::int64_t channels) {
  require_table(count, channels, sizeof(double));
  std::vector<double> out;
  out.reserve(index(count * channels));
  for (std::int64_t place = count - 1; place >= 0; --place) {
    const std::vector<double> row = input_row(SinusoidalInput{}, channels, static_cast<double>(place));
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

}  // namespace posenc::cpu
