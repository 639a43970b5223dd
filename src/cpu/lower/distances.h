// Which distances i - j occur in a call, and which row of a table each of them takes: what biases and vectors by
// distance need so that their tables grow with the lengths and not with queries times keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/lower/lowering.h"

namespace posenc::cpu {

// From the least to the largest that a query may see, whichever of them occur. Throws Error where one is not whole.
DistanceRange distances(const Lowering& lowering, std::int64_t coordinate);

// Of those distances, the ones that a mask lets a query see where positions are the orders.
DistanceRange seen_by(const Mask& mask, DistanceRange all);

// Throws Error for a term whose tables, of so many numbers for each entry, would pass kMaxTableBytes.
void require_table(std::int64_t entries, std::int64_t numbers, std::int64_t bytes_of_number);

// Of an ascending list of distances, the first for which `holds`: it does not up to there, and does from there on.
template <typename Predicate>
std::int64_t first_where(DistanceRange within, const Predicate& holds) {
  while (within.low < within.high) {
    const std::int64_t middle = within.low + (within.high - within.low) / 2;
    if (holds(middle)) {
      within.high = middle;
    } else {
      within.low = middle + 1;
    }
  }
  return within.low;
}

// Without the distances at either end that have the place of the next: tables end where a bucket does. On either side
// of 0, places ascend or descend.
template <typename Place>
DistanceRange trimmed(DistanceRange range, const Place& place) {
  if (range.low < 0) {
    const auto last = place(range.low);
    const std::int64_t end = std::min<std::int64_t>(range.high, -1);
    if (place(end) == last) {
      range.low = end;
    } else {
      range.low = first_where({range.low, end}, [&](std::int64_t d) { return place(d) != last; }) - 1;
    }
  }
  if (range.high > 0) {
    const auto last = place(range.high);
    const std::int64_t begin = std::max<std::int64_t>(range.low, 0);
    range.high = first_where({begin, range.high}, [&](std::int64_t d) { return place(d) == last; });
  }
  return range;
}

// place(d) is the row of a table for a distance. Beyond the range that is kept, rows are those of its ends: so
// trimmed() may cut it.
template <typename Place>
math::DistancePlaces places(const Lowering& lowering, std::int64_t coordinate, const Place& place) {
  const DistanceRange range = trimmed(distances(lowering, coordinate), place);
  require_table(range.count(), 1, sizeof(std::int32_t));
  math::DistancePlaces out{.coordinate = coordinate, .low = range.low, .places = {}};
  out.places.reserve(static_cast<std::size_t>(range.count()));
  for (std::int64_t d = range.low; d <= range.high; ++d) out.places.push_back(static_cast<std::int32_t>(place(d)));
  return out;
}

// NEZHA's rows (arXiv 1909.00204) for `count` distances, [count, channels]: sines of a place, which counts from the
// largest distance on. Throws as require_table does.
std::vector<double> shaw_sines(std::int64_t count, std::int64_t channels);

// Row clip(d, low, high) - low.
inline math::DistancePlaces clipped_places(const Lowering& lowering, std::int64_t low, std::int64_t high,
                                           std::int64_t coordinate = 0) {
  return places(lowering, coordinate, [=](std::int64_t d) { return std::clamp(d, low, high) - low; });
}

}  // namespace posenc::cpu
