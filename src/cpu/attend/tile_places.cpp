// Terms in which a query or a key meets the vector of their distance's place: a tile's products with the places that
// occur in it, a band at a time, and of those each score its own.
#include <algorithm>
#include <limits>
#include <span>

#include "cpu/attend/tile_terms.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Each one more than the one before.
// Then scores read the band as rows, each beginning one place earlier, and look nothing up.
bool is_run_of_places(std::span<const std::int32_t> places) {
  std::int32_t wanted = places.front();
  return std::ranges::all_of(places, [&](std::int32_t own) { return own == wanted++; });
}

}  // namespace

// The smallest and the largest distance i - j of a patch: from its corners where positions step by 1, else from the
// extremes of both sides.
TileTerms::PlaceRange TileTerms::distances(std::int64_t coordinate, const Patch& patch) const {
  if (is_run(coordinate)) {
    const std::int64_t last_lane = std::min(patch.first_lane + patch.lanes, block_.used) - 1;
    const double first = distance(coordinate, std::min(patch.first_lane, last_lane), patch.first_key + patch.keys - 1);
    return {static_cast<std::int64_t>(first),
            static_cast<std::int64_t>(distance(coordinate, last_lane, patch.first_key))};
  }
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  const math::Coordinate& along = call_.lowered.coordinates[index(coordinate)];
  const std::int64_t end = std::min(patch.first_lane + patch.lanes, block_.used);
  for (std::int64_t l = std::min(patch.first_lane, block_.used - 1); l < end; ++l) {
    least = std::min(least, along.q[index(block_.lane[index(l)].row)]);
    most = std::max(most, along.q[index(block_.lane[index(l)].row)]);
  }
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (std::int64_t m = patch.first_key; m < patch.first_key + patch.keys; ++m) {
    first = std::min(first, along.k[index(tile_.row(m))]);
    last = std::max(last, along.k[index(tile_.row(m))]);
  }
  return {static_cast<std::int64_t>(least - last), static_cast<std::int64_t>(most - first)};
}

// Which rows of the table occur between those distances (T5 and DeBERTa map many distances to one row).
TileTerms::PlaceRange TileTerms::places(const math::DistancePlaces& at, const Patch& patch) const {
  const PlaceRange range = distances(at.coordinate, patch);
  const std::int64_t count = std::ssize(at.places);
  PlaceRange out{std::numeric_limits<std::int64_t>::max(), -1};
  const std::int64_t end = math::entry_of(at.low, count, range.high);
  for (std::int64_t entry = math::entry_of(at.low, count, range.low); entry <= end; ++entry) {
    const std::int64_t own = at.places[index(entry)];
    if (own < 0) {
      out.is_partial = true;
      continue;
    }
    out.low = std::min(out.low, own);
    out.high = std::max(out.high, own);
  }
  return out;
}

// ---- queries ----

// q_i . E[place]: Shaw et al. and DeBERTa's content to position. One product of the band of rows with the queries, then
// each score picks its own.
void TileTerms::add(const math::QueryDistance& term, std::size_t t) {
  add_products({.at = term.at,
                .vectors = call_.vectors(t).rows.data(),
                .count = term.vectors.count,
                .per_head = term.vectors.per_head,
                .rows = term.given_places.empty() ? block_.raw.data() : block_.of_term[t].data(),
                .part = term.part,
                .kept = kept(t)});
}

// to[place][lane]. The lanes of one register meet fewer places than all: where positions go up by one, 16 of them and
// 64 keys have 79 distances, 48 have 111. What they do not meet is left as it was.
void TileTerms::multiply_places(const PlaceProducts& x, std::int64_t head, const PlaceRange& some, float* to) const {
  const std::int64_t channels = call_.layer.head_dim;
  const auto multiply = [&](std::int64_t first_lane, std::int64_t lanes, std::int64_t low, std::int64_t count) {
    call_.attention.product({.a = x.vectors + ((x.per_head ? head * x.count : 0) + low) * channels,
                             .a_row = channels,
                             .a_step = 1,
                             .b = x.rows + first_lane,
                             .c = to + (low - some.low) * block_.lanes + first_lane,
                             .rows = count,
                             .depth = channels,
                             .lanes = lanes,
                             .b_row = block_.lanes,
                             .c_row = block_.lanes});
  };
  const std::int64_t count = some.high - some.low + 1;
  const std::int64_t wide = call_.attention.register_lanes;
  if (count <= wide) return multiply(0, block_.lanes, some.low, count);
  for (std::int64_t l = 0; l < block_.lanes; l += wide) {
    const PlaceRange met = places(x.at, {l, wide, 0, tile_.count()});
    const std::int64_t low = std::max(met.low, some.low);
    const std::int64_t high = std::min(met.high, some.high);
    if (low <= high) multiply(l, wide, low, high - low + 1);
  }
}

// Of lanes of one head: the products with places that the block meets for the first time, and of all each score its
// own.
void TileTerms::add_kept_products(const PlaceProducts& x) {
  const std::int64_t channels = call_.layer.head_dim;
  const float* const vectors = x.vectors + (x.per_head ? block_.head() * x.count * channels : 0);
  PlaceRing& ring = *x.kept;
  const PlaceRange all = places(x.at, whole_tile());
  for (std::int64_t low = all.low; low <= all.high; low += PlaceRing::kPlaces) {
    const PlaceSpan some{low, std::min(low + PlaceRing::kPlaces - 1, all.high)};
    if (!ring.takes(some)) ring.clear();
    ring.open(some, [&](std::int64_t place, std::int64_t count, float* to) {
      call_.attention.product({.a = vectors + place * channels,
                               .a_row = channels,
                               .a_step = 1,
                               .b = x.rows,
                               .c = to,
                               .rows = count,
                               .depth = channels,
                               .lanes = block_.lanes});
    });
    if (all.is_one()) {
      const float* const band = ring.data() + ring.offset(low);
      call_.attention.add_rows({.to = scores(), .added = band, .step = 0, .factor = factor(x.part)});
      return;
    }
    gather(ring.data(), x.at.coordinate, x.part, [&](std::int64_t d) {
      const std::int64_t place = place_of(x.at, d);
      const bool is_here = place >= some.low && place <= some.high;
      return static_cast<std::int32_t>(is_here ? ring.offset(place) : ring.nowhere());
    });
  }
}

// Bands of kBandPlaces rows of the table at a time, so that the products stay in L1.
void TileTerms::add_products(const PlaceProducts& x) {
  if (x.kept != nullptr) return add_kept_products(x);
  const std::int64_t lanes = block_.lanes;
  const PlaceRange all = places(x.at, whole_tile());
  for (std::int64_t low = all.low; low <= all.high; low += kBandPlaces) {
    const std::int64_t count = std::min(kBandPlaces, all.high - low + 1);
    const PlaceRange some{low, low + count - 1};
    float* const band = scratch_.band.data();
    multiply_places(x, block_.head(), some, band);
    for (std::int64_t l = 1; l < block_.used && x.per_head && !block_.one_head; ++l) {
      const std::int64_t head = block_.lane[index(l)].head;
      if (head == block_.lane[index(l - 1)].head) continue;  // lanes of a head are together
      multiply_places(x, head, some, scratch_.band_of_head.data());
      for (std::int64_t n = 0; n < count; ++n) {
        for (std::int64_t own = l; own < block_.used && block_.lane[index(own)].head == head; ++own) {
          band[n * lanes + own] = scratch_.band_of_head[index(n * lanes + own)];
        }
      }
    }
    if (all.is_one()) {
      call_.attention.add_rows({.to = scores(), .added = band, .step = 0, .factor = factor(x.part)});
      return;
    }
    std::fill_n(band + count * lanes, lanes, 0.0F);
    gather(band, x.at.coordinate, x.part, [&](std::int64_t d) {
      const std::int64_t place = place_of(x.at, d);
      const bool is_here = place >= low && place < low + count;
      return static_cast<std::int32_t>((is_here ? place - low : count) * lanes);
    });
  }
}

// ---- keys ----

// Far away, all of a tile may have one place: a number for each key, the same for all blocks of a head. Those of a few
// heads are made at once.
void TileTerms::add_place_of_keys(const math::KeyDistance& term, std::size_t t, std::int64_t place) {
  constexpr std::int64_t kWide = kernels::kDecodeLanes;
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t group_end = (block_.kv_head + 1) * call_.group;
  const std::int64_t of_group = block_.head() % call_.group;
  KeysOfPlace& made = scratch_.keys_of_place;
  const KeysOfPlace::Of wanted{t, place, block_.head() - of_group % kWide, tile_.row(0), tile_.count()};
  if (made.of != wanted) {
    made.of = wanted;
    for (std::int64_t n = 0; n < kWide; ++n) {
      const std::int64_t head = std::min(wanted.first_head + n, group_end - 1);
      const std::int64_t row = (term.vectors.per_head ? head * term.vectors.count : 0) + place;
      std::copy_n(call_.vectors(t).rows.data() + row * channels, channels, made.vectors.begin() + n * channels);
    }
    const FloatRows raw = tile_.raw();
    call_.attention.decode_dots({.a = raw.data,
                                 .a_row = raw.stride,
                                 .b = made.vectors.data(),
                                 .c = made.products.data(),
                                 .rows = tile_.count(),
                                 .depth = channels,
                                 .lanes = kWide,
                                 .each = kWide});
  }
  const float* from = made.products.data() + (block_.head() - wanted.first_head);
  for (std::int64_t m = 0; m < tile_.count(); ++m, from += kWide) scratch_.run[index(m)] = *from;
  call_.attention.add_column({.to = scores(), .column = scratch_.run.data(), .factor = factor(term.part)});
}

// As many keys at a time as a register has lanes, for the same reason: 16 of them and 48 lanes have 63 distances.
void TileTerms::add(const math::KeyDistance& term, std::size_t t) {
  const PlaceRange all = places(term.at, whole_tile());
  if (all.high < all.low) return;
  if (all.is_one() && block_.one_head) return add_place_of_keys(term, t, all.low);
  const std::int64_t wide = call_.attention.register_lanes;
  for (std::int64_t l = 0; l < block_.used;) {
    const std::int64_t head = block_.lane[index(l)].head;
    std::int64_t end = l + 1;
    while (end < block_.used && block_.lane[index(end)].head == head) ++end;
    for (std::int64_t m = 0; m < tile_.count(); m += wide) {
      add_some_keys(term, t, {l, end - l, m, std::min(wide, tile_.count() - m)});
    }
    l = end;
  }
}

// Of lanes of one head.
void TileTerms::add_some_keys(const math::KeyDistance& term, std::size_t t, const Patch& patch) {
  const TermVectors& own = call_.vectors(t);
  const std::int64_t channels = call_.layer.head_dim;
  const std::int64_t head = block_.lane[index(patch.first_lane)].head;
  const float* const columns = own.columns.data() + (term.vectors.per_head ? head * channels * own.columns_row : 0);
  const FloatRows raw = tile_.raw();
  const kernels::Scores of_keys{scores_ + patch.first_key * block_.lanes, patch.keys, block_.lanes};
  const PlaceRange met = places(term.at, patch);
  for (std::int64_t low = met.low; low <= met.high; low += kBandPlaces) {
    const std::int64_t count = std::min(kBandPlaces, met.high - low + 1);
    const std::int64_t width = whole(count, call_.attention.register_lanes);
    float* const band = scratch_.band.data();  // [keys][width], and as many zeros
    for (std::int64_t n = 0; n < width; n += call_.max_lanes) {
      call_.attention.product({.a = raw.data + patch.first_key * raw.stride,
                               .a_row = raw.stride,
                               .a_step = 1,
                               .b = columns + low + n,
                               .c = band + n,
                               .rows = patch.keys,
                               .depth = channels,
                               .lanes = std::min(call_.max_lanes, width - n),
                               .b_row = own.columns_row,
                               .c_row = width});
    }
    const std::int64_t nothing = patch.keys * width;
    std::fill_n(band + nothing, nothing, 0.0F);
    const std::int32_t* first = nullptr;
    const std::int64_t step = fill_places(
        term.at.coordinate, patch.first_key, patch.keys,
        [&](std::int64_t d, std::int64_t own_head) {
          const std::int64_t place = place_of(term.at, d) - low;
          const bool is_here = own_head == head && place >= 0 && place < count;
          return static_cast<std::int32_t>(is_here ? place : nothing);
        },
        first);
    if (step == -1 && is_run_of_places(std::span(first - (patch.keys - 1), first + block_.lanes))) {
      call_.attention.add_rows({.to = of_keys, .added = band + *first, .step = width - 1, .factor = factor(term.part)});
    } else {
      call_.attention.add_gathered({.to = of_keys,
                                    .table = band,
                                    .table_step = width,
                                    .index = first,
                                    .index_step = step,
                                    .factor = factor(term.part)});
    }
  }
}

// ---- values ----

// Weights summed by place: o += sum_place mass[place] T[place] at the end, instead of a vector for each key (Shaw's
// values).
void TileTerms::add_mass(const math::ValueDistance& values) {
  const std::int32_t* first = nullptr;
  const std::int64_t step = fill_places(
      values.at.coordinate, 0, tile_.count(),
      [&](std::int64_t d, std::int64_t) {
        const std::int64_t place = place_of(values.at, d);
        return static_cast<std::int32_t>((place < 0 ? values.count : place) * block_.lanes);
      },
      first);
  call_.attention.add_mass({.of = scores(), .index = first, .index_step = step, .mass = block_.mass.data()});
}

}  // namespace posenc::cpu
