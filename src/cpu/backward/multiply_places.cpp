// What has been summed by place, times what it met: vectors of places give gradients of rows, and rows gradients of the
// vectors.
#include <algorithm>
#include <variant>

#include "cpu/backward/tile_gradients.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Rows, one for each lane, that have met vectors of places.
struct MetPlaces {
  const float* vectors;  // of the lanes' head: [places][head_dim]
  const float* rows;     // [lanes][key_width]
  float* of_rows;        // [head_dim][lanes]
};

// [channels][lanes] to padded rows of lanes.
void put_into_rows(const float* columns, std::int64_t channels, std::int64_t lanes, std::int64_t width, float* rows) {
  for (std::int64_t l = 0; l < lanes; ++l) {
    for (std::int64_t c = 0; c < width; ++c) rows[l * width + c] = c < channels ? columns[c * lanes + l] : 0.0F;
  }
}

// What a term's places have met in the block: queries as given, or what stands for them (SineDistance: q + v).
struct Meeting {
  const BackwardCall& backward;
  GradientScratch& scratch;
  GradientBlock& block;
  std::size_t t;

  std::int64_t channels() const { return backward.call.layer.head_dim; }
  const float* vectors(const std::vector<float>& all, std::int64_t count, bool per_head) const {
    return all.data() + (per_head ? block.lanes.head() * count : 0) * channels();
  }
  const float* rows_of_term() const {
    put_into_rows(block.lanes.of_term[t].data(), channels(), block.lanes.lanes, backward.key_width,
                  scratch.rows.data());
    return scratch.rows.data();
  }
  MetPlaces operator()(const math::QueryDistance& term) const {
    const float* const own = vectors(backward.call.vectors(t).rows, term.vectors.count, term.vectors.per_head);
    if (term.given_places.empty()) return {own, block.raw_rows.data(), block.d_raw.data()};
    return {own, rows_of_term(), block.of_term[t].data()};
  }
  MetPlaces operator()(const math::SineDistance& term) const {
    return {vectors(backward.call.projected[t].rows, term.high - term.low + 1, true), rows_of_term(),
            block.of_term[t].data()};
  }
  template <typename Term>
  MetPlaces operator()(const Term&) const {
    return {};
  }
};

}  // namespace

void multiply_places(const BackwardCall& backward, GradientScratch& scratch, GradientBlock& block, std::size_t t,
                     TermSums& sums) {
  PlaceMass& mass = block.of_places[t];
  if (mass.is_empty()) return;
  const AttendCall& call = backward.call;
  const std::int64_t lanes = block.lanes.lanes;
  const std::int64_t channels = call.layer.head_dim;
  const std::int64_t width = backward.key_width;
  const MetPlaces met = std::visit(Meeting{backward, scratch, block, t}, call.lowered.terms[t]);
  float* const of_vectors = backward.wants[t] != 0 ? sums.floats_of(block.lanes.head() % call.group) : nullptr;
  mass.take([&](std::int64_t place, std::int64_t count, const float* own) {
    call.attention.product({.a = met.vectors + place * channels,
                            .a_row = 1,
                            .a_step = channels,
                            .b = own,
                            .c = met.of_rows,
                            .scale = scratch.ones.data(),
                            .rows = channels,
                            .depth = count,
                            .lanes = lanes});
    if (of_vectors == nullptr) return;
    add_rows_product(call, scratch.ones.data(),
                     {.a = own,
                      .a_row = lanes,
                      .a_step = 1,
                      .b = met.rows,
                      .b_row = width,
                      .c = of_vectors + place * width,
                      .c_row = width,
                      .rows = count,
                      .depth = block.lanes.used,
                      .width = width});
  });
}

// Keys as given, which end with a whole register: where they lie, or copied.
FloatRows padded_keys(const BackwardCall& backward, GradientScratch& scratch, KeyTile& tile, std::int64_t count) {
  const FloatRows raw = tile.raw();
  const std::int64_t channels = backward.call.layer.head_dim;
  if (channels == backward.key_width) return raw;
  for (std::int64_t m = 0; m < count; ++m) {
    float* const to = scratch.raw_keys.data() + m * backward.key_width;
    std::copy_n(raw.data + m * raw.stride, channels, to);
    std::fill(to + channels, to + backward.key_width, 0.0F);
  }
  return {scratch.raw_keys.data(), backward.key_width};
}

void multiply_key_places(const BackwardCall& backward, GradientScratch& scratch, KeyTile& tile, std::size_t t,
                         KeyGradients& keys, TermSums& sums) {
  KeyMass& mass = scratch.of_keys[t];
  if (mass.mass.is_empty()) return;
  const AttendCall& call = backward.call;
  const std::int64_t width = backward.key_width;
  const auto& term = std::get<math::KeyDistance>(call.lowered.terms[t]);
  const bool is_padded = !backward.padded[t].empty();
  const float* const vectors = (is_padded ? backward.padded[t].data() : call.vectors(t).rows.data()) +
                               (term.vectors.per_head ? mass.head * term.vectors.count : 0) * width;
  const FloatRows raw = padded_keys(backward, scratch, tile, mass.keys);
  const bool is_careful = backward.wants[t] != 0 && !are_finite_rows(raw, mass.keys, width);
  mass.mass.take([&](std::int64_t place, std::int64_t count, const float* own) {
    add_rows_product(call, scratch.ones.data(),
                     {.a = own,
                      .a_row = 1,
                      .a_step = kTileKeys,
                      .b = vectors + place * width,
                      .b_row = width,
                      .c = keys.of_given(),
                      .c_row = width,
                      .rows = mass.keys,
                      .depth = count,
                      .width = width});
    if (backward.wants[t] == 0) return;
    add_rows(call, scratch.ones.data(), is_careful,
             {.a = own,
              .a_row = kTileKeys,
              .a_step = 1,
              .b = raw.data,
              .b_row = raw.stride,
              .c = sums.floats_of(mass.head % call.group) + place * width,
              .c_row = width,
              .rows = count,
              .depth = mass.keys,
              .width = width});
  });
  mass.keys = 0;
}

}  // namespace posenc::cpu
