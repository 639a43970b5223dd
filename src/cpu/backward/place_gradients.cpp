// The transposes of terms in which a query or a key meets the vector of their distance's place: gradients summed by
// place, and of those two products, with the vectors and with the rows that they met.
#include <algorithm>
#include <optional>
#include <span>

#include "cpu/backward/tile_gradients.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

// Keys as given, which end with a whole register: where they lie, or copied.
FloatRows TileGradients::raw_keys() {
  if (raw_.data != nullptr) return raw_;
  raw_ = tile_.raw();
  const std::int64_t channels = call_.layer.head_dim;
  if (channels == backward_.key_width) return raw_;
  for (std::int64_t m = 0; m < tile_.count(); ++m) {
    float* const to = scratch_.raw_keys.data() + m * backward_.key_width;
    std::copy_n(raw_.data + m * raw_.stride, channels, to);
    std::fill(to + channels, to + backward_.key_width, 0.0F);
  }
  raw_ = {scratch_.raw_keys.data(), backward_.key_width};
  return raw_;
}

// mass[place][lane]; what has no place among `places` goes behind them.
template <typename Offset>
void TileGradients::sum_mass(const float* d, std::int64_t coordinate, std::int64_t places, const Offset& offset) {
  const std::int64_t lanes = block_.lanes.lanes;
  std::fill_n(scratch_.mass.data(), (places + 1) * lanes, 0.0F);
  const std::int32_t* first = nullptr;
  const std::int64_t step = places_.fill_places(
      coordinate, 0, tile_.count(),
      [&](std::int64_t distance, std::int64_t) { return static_cast<std::int32_t>(offset(distance) * lanes); }, first);
  call_.attention.add_mass({.of = scores(d), .index = first, .index_step = step, .mass = scratch_.mass.data()});
}

void TileGradients::add_places(const PlaceGradients& x, const float* d) {
  const std::int64_t lanes = block_.lanes.lanes;
  const std::int64_t channels = call_.layer.head_dim;
  const float* const ones = scratch_.ones.data();
  const TileTerms::PlaceRange all = places_.places(x.at, places_.whole_tile());
  for (std::int64_t low = all.low; low <= all.high; low += kBandPlaces) {
    const std::int64_t count = std::min(kBandPlaces, all.high - low + 1);
    float* const mass = scratch_.mass.data();
    if (all.is_one()) {
      std::fill_n(mass, lanes, 0.0F);
      call_.attention.sum_rows({.of = scores(d), .sums = mass, .step = 0});
    } else {
      sum_mass(d, x.at.coordinate, count, [&](std::int64_t distance) {
        const std::int64_t place = place_of(x.at, distance);
        return place >= low && place < low + count ? place - low : count;
      });
    }
    call_.attention.product({.a = x.vectors + low * channels,
                             .a_row = 1,
                             .a_step = channels,
                             .b = mass,
                             .c = x.of_rows,
                             .scale = ones,
                             .rows = channels,
                             .depth = count,
                             .lanes = lanes});
    if (x.of_vectors == nullptr) continue;
    add_rows_product(call_, ones,
                     {.a = mass,
                      .a_row = lanes,
                      .a_step = 1,
                      .b = x.rows,
                      .b_row = backward_.key_width,
                      .c = x.of_vectors + low * backward_.key_width,
                      .c_row = backward_.key_width,
                      .rows = count,
                      .depth = block_.lanes.used,
                      .width = backward_.key_width});
  }
}

// [channels][lanes] to padded rows of lanes.
static void to_rows(const float* columns, std::int64_t channels, std::int64_t lanes, std::int64_t width, float* rows) {
  for (std::int64_t l = 0; l < lanes; ++l) {
    for (std::int64_t c = 0; c < width; ++c) rows[l * width + c] = c < channels ? columns[c * lanes + l] : 0.0F;
  }
}

void TileGradients::add(const math::QueryDistance& term, std::size_t t, const float* d) {
  const std::int64_t channels = call_.layer.head_dim;
  const bool is_given = !term.given_places.empty();
  const float* rows = block_.raw_rows.data();
  if (is_given) {
    to_rows(block_.lanes.of_term[t].data(), channels, block_.lanes.lanes, backward_.key_width, scratch_.rows.data());
    rows = scratch_.rows.data();
  }
  add_places(
      {.at = term.at,
       .vectors = call_.vectors(t).rows.data() + (term.vectors.per_head ? head() * term.vectors.count : 0) * channels,
       .count = term.vectors.count,
       .rows = rows,
       .of_rows = is_given ? block_.of_term[t].data() : block_.d_raw.data(),
       .of_vectors = backward_.wants[t] != 0 ? of_terms_[t].floats_of(of_group()) : nullptr},
      d);
}

// Some keys at a time, which meet fewer places than all: 16 of them and 48 lanes have 63 distances, 64 have 111.
void TileGradients::add(const math::KeyDistance& term, std::size_t t, const float* d) {
  const std::int64_t wide = call_.attention.register_lanes;
  const bool is_one = places_.places(term.at, places_.whole_tile()).is_one();
  const std::int64_t step = is_one ? tile_.count() : std::max<std::int64_t>(wide, 16);
  for (std::int64_t m = 0; m < tile_.count(); m += step) {
    add_some_keys(term, t, {0, block_.lanes.lanes, m, std::min(step, tile_.count() - m)}, d);
  }
}

void TileGradients::add_some_keys(const math::KeyDistance& term, std::size_t t, const TileTerms::Patch& patch,
                                  const float* d) {
  const std::int64_t lanes = block_.lanes.lanes;
  const std::int64_t width = backward_.key_width;
  const bool is_padded = !backward_.padded[t].empty();
  const float* const vectors = (is_padded ? backward_.padded[t].data() : call_.vectors(t).rows.data()) +
                               (term.vectors.per_head ? head() * term.vectors.count : 0) * width;
  const float* const ones = scratch_.ones.data();
  const TileTerms::PlaceRange all = places_.places(term.at, patch);
  for (std::int64_t low = all.low; low <= all.high; low += kBandPlaces) {
    const std::int64_t count = std::min(kBandPlaces, all.high - low + 1);
    float* const mass = scratch_.mass.data();  // [keys][count]
    std::fill_n(mass, patch.keys * count, 0.0F);
    const std::int32_t* first = nullptr;
    const std::int64_t step = places_.fill_places(
        term.at.coordinate, patch.first_key, patch.keys,
        [&](std::int64_t distance, std::int64_t) {
          const std::int64_t place = place_of(term.at, distance);
          return static_cast<std::int32_t>(place >= low && place < low + count ? place - low : -1);
        },
        first);
    for (std::int64_t m = 0; m < patch.keys; ++m) {
      const std::int32_t* const at = first + m * step;
      const float* const own = d + (patch.first_key + m) * lanes;
      for (std::int64_t l = 0; l < block_.lanes.used; ++l) {
        if (at[l] >= 0) mass[m * count + at[l]] += own[l];
      }
    }
    add_rows_product(call_, ones,
                     {.a = mass,
                      .a_row = count,
                      .a_step = 1,
                      .b = vectors + low * width,
                      .b_row = width,
                      .c = keys_.raw_keys.data() + patch.first_key * width,
                      .c_row = width,
                      .rows = patch.keys,
                      .depth = count,
                      .width = width});
    if (backward_.wants[t] == 0) continue;
    const FloatRows keys = raw_keys();
    add_rows_product(call_, ones,
                     {.a = mass,
                      .a_row = 1,
                      .a_step = count,
                      .b = keys.data + patch.first_key * keys.stride,
                      .b_row = keys.stride,
                      .c = of_terms_[t].floats_of(of_group()) + low * width,
                      .c_row = width,
                      .rows = count,
                      .depth = patch.keys,
                      .width = width});
  }
}

// Gradients of W^T (q + v), [width][lanes], where queries were projected; else as of vectors by place.
void TileGradients::add(const math::SineDistance& term, std::size_t t, const float* d) {
  const ProjectedDistances& own = call_.projected[t];
  if (!own.rows.empty()) {
    const std::int64_t channels = call_.layer.head_dim;
    const std::int64_t count = term.high - term.low + 1;
    to_rows(block_.lanes.of_term[t].data(), channels, block_.lanes.lanes, backward_.key_width, scratch_.rows.data());
    return add_places({.at = own.at,
                       .vectors = own.rows.data() + head() * count * channels,
                       .count = count,
                       .rows = scratch_.rows.data(),
                       .of_rows = block_.of_term[t].data(),
                       .of_vectors = backward_.wants[t] != 0 ? of_terms_[t].floats_of(of_group()) : nullptr},
                      d);
  }
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
