// The transposes of terms in which a query or a key meets the vector of their distance's place: gradients summed by
// place, and of those two products, with the vectors and with the rows that they met.
#include <algorithm>
#include <optional>
#include <span>

#include "cpu/backward/tile_gradients.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

// mass[offset(distance) + lane] += d
template <typename Offset>
void TileGradients::add_mass(const float* d, std::int64_t coordinate, const Offset& offset, float* mass) {
  const std::int32_t* first = nullptr;
  const std::int64_t step = places_.fill_places(
      coordinate, 0, tile_.count(),
      [&](std::int64_t distance, std::int64_t) { return static_cast<std::int32_t>(offset(distance)); }, first);
  call_.attention.add_mass({.of = scores(d), .index = first, .index_step = step, .mass = mass});
}

// mass[place][lane]; what has no place among `places` goes behind them.
template <typename Offset>
void TileGradients::sum_mass(const float* d, std::int64_t coordinate, std::int64_t places, const Offset& offset) {
  const std::int64_t lanes = block_.lanes.lanes;
  std::fill_n(scratch_.mass.data(), (places + 1) * lanes, 0.0F);
  add_mass(
      d, coordinate, [&](std::int64_t distance) { return offset(distance) * lanes; }, scratch_.mass.data());
}

// Of queries, or of rows that stand for them: the tile's gradients by place, until the block has passed all tiles.
void TileGradients::add_places(const math::DistancePlaces& at, std::size_t t, const float* d) {
  PlaceMass& mass = block_.of_places[t];
  const TileTerms::PlaceRange all = places_.places(at, places_.whole_tile());
  for (std::int64_t low = all.low; low <= all.high; low += PlaceMass::kPlaces) {
    const PlaceSpan some{low, std::min(low + PlaceMass::kPlaces - 1, all.high)};
    if (!mass.takes(some)) multiply_places(backward_, scratch_, block_, t, of_terms_[t]);
    mass.open(some);
    if (all.is_one()) {
      call_.attention.sum_rows({.of = scores(d), .sums = mass.data() + mass.offset(low), .step = 0});
      continue;
    }
    add_mass(
        d, at.coordinate,
        [&](std::int64_t distance) {
          const std::int64_t place = place_of(at, distance);
          return place >= some.low && place <= some.high ? mass.offset(place) : mass.nowhere();
        },
        mass.data());
  }
}

void TileGradients::add(const math::QueryDistance& term, std::size_t t, const float* d) { add_places(term.at, t, d); }

// Of keys: those of all blocks of a head, until they have passed the tile.
void TileGradients::add(const math::KeyDistance& term, std::size_t t, const float* d) {
  const std::int64_t lanes = block_.lanes.lanes;
  KeyMass& own = scratch_.of_keys[t];
  const auto multiply = [&] { multiply_key_places(backward_, scratch_, tile_, t, keys_, of_terms_[t]); };
  if (own.head != head()) multiply();
  own.head = head();
  own.keys = std::max(own.keys, tile_.count());
  const TileTerms::PlaceRange all = places_.places(term.at, places_.whole_tile());
  for (std::int64_t low = all.low; low <= all.high; low += PlaceMass::kPlaces) {
    const PlaceSpan some{low, std::min(low + PlaceMass::kPlaces - 1, all.high)};
    if (!own.mass.takes(some)) {
      multiply();
      own.keys = tile_.count();
    }
    own.mass.open(some);
    float* const mass = own.mass.data();
    if (all.is_one()) {
      add_sums_of_keys(d, mass + own.mass.offset(low));
      continue;
    }
    const std::int32_t* first = nullptr;
    const std::int64_t step = places_.fill_places(
        term.at.coordinate, 0, tile_.count(),
        [&](std::int64_t distance, std::int64_t) {
          const std::int64_t place = place_of(term.at, distance);
          const bool is_here = place >= some.low && place <= some.high;
          return static_cast<std::int32_t>(is_here ? own.mass.offset(place) : own.mass.nowhere());
        },
        first);
    for (std::int64_t m = 0; m < tile_.count(); ++m) {
      const std::int32_t* const at = first + m * step;
      for (std::int64_t l = 0; l < block_.lanes.used; ++l) mass[at[l] + m] += d[m * lanes + l];
    }
  }
}

// sums[m] += sum of d[m] over all lanes: a product with ones, rows of which overlap.
void TileGradients::add_sums_of_keys(const float* d, float* sums) {
  const std::int64_t wide = call_.attention.register_lanes;
  float* const columns = scratch_.mass.data();
  call_.attention.product({.a = d,
                           .a_row = block_.lanes.lanes,
                           .a_step = 1,
                           .b = scratch_.ones.data(),
                           .c = columns,
                           .rows = tile_.count(),
                           .depth = block_.lanes.used,
                           .lanes = wide,
                           .b_row = 1});
  for (std::int64_t m = 0; m < tile_.count(); ++m) sums[m] += columns[m * wide];
}

// Gradients of W^T (q + v), [width][lanes], where queries were projected; else as of vectors by place.
void TileGradients::add(const math::SineDistance& term, std::size_t t, const float* d) {
  if (!call_.projects_queries(t)) return add_places(call_.projected[t].at, t, d);
  const TileTerms::PlaceRange range = places_.distances(term.coordinate, places_.whole_tile());
  if (range.high - range.low < SineRows::kRows) return add_run_of_sines(term, t, range.low, range.high, d);
  add_any_sines(term, t, d);
}

void TileGradients::add_sines(std::size_t t, const float* sines, std::int64_t count, const float* mass) {
  const std::int64_t width = call_.vectors(t).sines->width();
  call_.attention.product({.a = sines,
                           .a_row = 1,
                           .a_step = width,
                           .b = mass,
                           .c = block_.of_term[t].data(),
                           .scale = scratch_.ones.data(),
                           .rows = width,
                           .depth = count,
                           .lanes = block_.lanes.lanes});
}

void TileGradients::add_run_of_sines(const math::SineDistance& term, std::size_t t, std::int64_t low, std::int64_t high,
                                     const float* d) {
  std::optional<std::int64_t> first;
  std::int64_t last = 0;
  for (std::int64_t distance = low; distance <= high; ++distance) {
    const std::optional<std::int64_t> place = math::sine_place(term, distance);
    if (!place) continue;
    if (!first) first = place;
    last = *place;
  }
  if (!first) return;
  const std::int64_t count = last - *first + 1;
  sum_mass(d, term.coordinate, count, [&](std::int64_t distance) {
    const std::optional<std::int64_t> place = math::sine_place(term, distance);
    return place ? *place - *first : count;
  });
  scratch_.sines(t)->for_run(call_.kernels, *first, count, [&](const SineRows::Piece& piece) {
    add_sines(t, piece.rows, piece.count, scratch_.mass.data() + piece.first * block_.lanes.lanes);
  });
}

void TileGradients::add_any_sines(const math::SineDistance& term, std::size_t t, const float* d) {
  std::pmr::vector<std::int64_t>& all = scratch_.terms.distances;
  all.clear();
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    for (std::int64_t l = 0; l < block_.lanes.used; ++l) {
      const auto distance = static_cast<std::int64_t>(places_.distance(term.coordinate, l, m));
      if (const auto place = math::sine_place(term, distance)) all.push_back(*place);
    }
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (std::size_t first = 0; first < all.size(); first += SineRows::kRows) {
    const std::span some = std::span(all).subspan(first, std::min<std::size_t>(SineRows::kRows, all.size() - first));
    sum_mass(d, term.coordinate, std::ssize(some), [&](std::int64_t distance) {
      const std::optional<std::int64_t> place = math::sine_place(term, distance);
      const auto at = place ? std::ranges::lower_bound(some, *place) : some.end();
      return at != some.end() && *at == *place ? at - some.begin() : std::ssize(some);
    });
    add_sines(t, scratch_.sines(t)->of(call_.kernels, some), std::ssize(some), scratch_.mass.data());
  }
}

// Weights by place have been multiplied with the block's gradients of outputs when it began.
void TileGradients::add_of_values(const math::ValueDistance& values, float* d_weights) {
  const std::int64_t lanes = block_.lanes.lanes;
  const std::int32_t* first = nullptr;
  const std::int64_t step = places_.fill_places(
      values.at.coordinate, 0, tile_.count(),
      [&](std::int64_t distance, std::int64_t) {
        const std::int64_t place = place_of(values.at, distance);
        return static_cast<std::int32_t>((place < 0 ? values.count : place) * lanes);
      },
      first);
  call_.attention.add_gathered({.to = {d_weights, tile_.count(), lanes},
                                .table = block_.at_places.data(),
                                .index = first,
                                .index_step = step,
                                .of_lane = true});
}

}  // namespace posenc::cpu
