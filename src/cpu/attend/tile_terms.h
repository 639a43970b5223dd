// The score terms of a layer, over one tile of [keys][lanes]: an overload for each primitive (math/primitives.h), in
// the order of the equation of posenc/reference_attend.h: content terms, soft cap, biases, mask. Kernels:
// kernels/score_loop.h; a table by distance is read as one run where positions step by 1.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"
#include "cpu/attend/sine_rows.h"

namespace posenc::cpu {

// Places of a table that are multiplied with a tile at a time.
// 128 rows of 48 lanes are 24 KiB of floats, which stay in L1.
inline constexpr std::int64_t kBandPlaces = 128;

// Products of a tile's keys with the vectors of one place of kDecodeLanes heads, made last: KeyDistance.
struct KeysOfPlace {
  struct Of {
    std::size_t term = 0;
    std::int64_t place = -1;
    std::int64_t first_head = 0;
    std::int64_t first_row = 0;  // the tile
    std::int64_t keys = 0;
    bool operator==(const Of&) const = default;
  };
  Of of{};
  std::pmr::vector<float> vectors;   // [heads][channels]
  std::pmr::vector<float> products;  // [keys][heads]
};

// Memory of one thread for what terms make of one tile.
struct TermScratch {
  TermScratch(const AttendCall& call, std::pmr::memory_resource* memory);

  std::pmr::vector<float> run;            // by distance: [keys + lanes]
  std::pmr::vector<std::int32_t> places;  // likewise, or [keys][lanes]
  std::pmr::vector<float> each;           // [keys][lanes]
  std::pmr::vector<float> edges;          // of a function that bends
  std::pmr::vector<float> bends;
  std::pmr::vector<float> band;  // products with rows of a table
  std::pmr::vector<float> band_of_head;
  KeysOfPlace keys_of_place;
  std::pmr::vector<std::optional<SineRows>> sines;  // of each term
  std::pmr::vector<std::int64_t> distances;         // that occur in the tile, where they are no run
};

// From which lanes some key of a tile is hidden: by attn_mask, a bit each, and by order.
struct Hidden {
  std::uint64_t given = 0;
  bool by_order = false;
  Orders seen_by_all;  // by order

  bool any() const noexcept { return given != 0 || by_order; }
  bool any_of(std::int64_t first, std::int64_t count) const noexcept { return by_order || given_of(first, count) != 0; }
  // Keys of these orders are hidden from none of the lanes; none, where it is not known of any.
  Orders seen_by(std::int64_t first, std::int64_t count) const noexcept {
    return given_of(first, count) == 0 ? seen_by_all : kNoOrders;
  }

 private:
  std::uint64_t given_of(std::int64_t first, std::int64_t count) const noexcept {
    return given >> static_cast<std::uint64_t>(first) &
           ((std::uint64_t{1} << static_cast<std::uint64_t>(count)) - 1);
  }
};
static_assert(kMaxLanes < 64);

// Made for one block and one tile; `scores` are those of QK^T when it begins.
class TileTerms {
 public:
  TileTerms(const AttendCall& call, TermScratch& scratch, LaneBlock& block, KeyTile& tile, float* scores);

  // Content terms, times row_scale.
  void add_content();
  // -inf where the mask, or the caller, lets nothing through.
  Hidden hide();
  // Gates of the content scores, kept until add_bias.
  void sum_gates(float* out);
  void add_bias(const float* of_gates);

  // value[place of the distance] += weight: the weights stand where scores were.
  void add_mass(const math::ValueDistance& values);

 private:
  friend struct AddTerm;
  friend class TileGradients;  // cpu/backward/tile_gradients.h: where distances and places of the tile are
  // The content terms, or the biases, in the plan's order; t is the number of the term.
  void add_terms(math::Part part);
  void add(const math::DistanceBias& term, std::size_t t);
  void add(const math::LinearDistance& term, std::size_t t);
  void add(const math::Knots& term, std::size_t t);
  void add(const math::Column& term, std::size_t t);
  void add(const math::QueryDistance& term, std::size_t t);
  void add(const math::KeyDistance& term, std::size_t t);
  void add(const math::SineDistance& term, std::size_t t);
  void add(const math::KeyVector& term, std::size_t t);
  void add(const math::Label& term, std::size_t t);
  void add(const math::Running& term, std::size_t t);

  // Lanes and keys both step by 1 along the coordinate, so lane l and key m are l - m further apart than the first two.
  bool is_run(std::int64_t coordinate) const;
  double distance(std::int64_t coordinate, std::int64_t lane, std::int64_t m) const;
  // Numbers for the lanes and keys of the tile: key m's begin at first + m step.
  struct Strip {
    std::span<const float> values;
    const float* first;
    std::int64_t step;
  };
  // value(lane, key), each asked for.
  template <typename Value>
  Strip each(const Value& value);
  // value(head, distance): asked for once a distance where rows are runs.
  template <typename Value>
  Strip by_distance(std::int64_t coordinate, const Value& value);
  template <typename Value>
  Strip by_lanes(std::int64_t coordinate, const Value& value);
  // s += factor * strip
  void add(const Strip& strip, const float* factor);
  template <typename Value>
  void add_each(const Value& value, const float* factor);
  template <typename Sees>
  void hide_each(const Sees& sees);  // sees(lane, key)
  struct PlaceRange {
    std::int64_t low;
    std::int64_t high;        // below low: none
    bool is_partial = false;  // some distances have none

    bool is_one() const { return low == high && !is_partial; }
  };
  // Some lanes of the tile and some of its keys.
  struct Patch {
    std::int64_t first_lane;
    std::int64_t lanes;
    std::int64_t first_key;
    std::int64_t keys;
  };
  Patch whole_tile() const { return {0, block_.lanes, 0, tile_.count()}; }
  PlaceRange distances(std::int64_t coordinate, const Patch& patch) const;  // between the ends of lanes and keys
  PlaceRange places(const math::DistancePlaces& at, const Patch& patch) const;
  // offset(distance, lane's head) for each lane and some keys; returns the step from key to key.
  template <typename Offset>
  // Into TermScratch::places; `first` points to those of the first key. Where distances are a run there is one for each
  // distance, and the step is -1; else one for each score.
  std::int64_t fill_places(std::int64_t coordinate, std::int64_t first_key, std::int64_t keys, const Offset& offset,
                           const std::int32_t*& first);
  // s += factor * band[offset(distance)]
  template <typename Offset>
  void gather(const float* band, std::int64_t coordinate, math::Part part, const Offset& offset);
  // Products of rows, one for each lane, with the vectors of places, and of them each lane its own.
  struct PlaceProducts {
    const math::DistancePlaces& at;
    const float* vectors;  // [heads or 1][count][channels]
    std::int64_t count;
    bool per_head;
    const float* rows;  // [channels][lanes]
    math::Part part;
    PlaceRing* kept;  // or null
  };
  PlaceRing* kept(std::size_t t) const { return block_.met.empty() ? nullptr : &block_.met[t]; }
  void add_products(const PlaceProducts& x);
  void add_kept_products(const PlaceProducts& x);
  void multiply_places(const PlaceProducts& x, std::int64_t head, const PlaceRange& some, float* to) const;
  void add_some_keys(const math::KeyDistance& term, std::size_t t, const Patch& patch);
  void add_place_of_keys(const math::KeyDistance& term, std::size_t t, std::int64_t place);
  void add_run_of_sines(const math::SineDistance& term, std::size_t t, PlaceRange range);
  void add_any_sines(const math::SineDistance& term, std::size_t t);
  void multiply_sines(std::size_t t, const float* sines, std::int64_t count, float* to);
  // LayerInputs::bias; and visible, false where it lets everything through.
  void add_given();
  std::uint64_t hide_given();
  kernels::Scores scores() const { return {scores_, tile_.count(), block_.lanes}; }
  const float* factor(math::Part part) const { return part == math::Part::content ? block_.row_scale.data() : nullptr; }

  const AttendCall& call_;
  TermScratch& scratch_;
  LaneBlock& block_;
  KeyTile& tile_;
  float* scores_;
};

template <typename Offset>
std::int64_t TileTerms::fill_places(std::int64_t coordinate, std::int64_t first_key, std::int64_t keys,
                                    const Offset& offset, const std::int32_t*& first) {
  const auto whole = [&](std::int64_t l, std::int64_t m) {
    return static_cast<std::int64_t>(distance(coordinate, l, first_key + m));
  };
  std::int32_t* const to = scratch_.places.data();
  if (is_run(coordinate)) {
    const std::int64_t last = keys - 1;
    const std::int64_t low = whole(0, last);
    for (std::int64_t n = 0; n < last + block_.lanes; ++n) to[n] = offset(low + n, block_.head());
    first = to + last;
    return -1;
  }
  for (std::int64_t m = 0; m < keys; ++m) {
    for (std::int64_t l = 0; l < block_.lanes; ++l) {
      to[m * block_.lanes + l] = offset(whole(l, m), block_.lane[static_cast<std::size_t>(l)].head);
    }
  }
  first = to;
  return block_.lanes;
}

template <typename Offset>
void TileTerms::gather(const float* band, std::int64_t coordinate, math::Part part, const Offset& offset) {
  const std::int32_t* first = nullptr;
  const std::int64_t step = fill_places(
      coordinate, 0, tile_.count(), [&](std::int64_t d, std::int64_t) { return offset(d); }, first);
  call_.attention.add_gathered(
      {.to = scores(), .table = band, .index = first, .index_step = step, .of_lane = true, .factor = factor(part)});
}

// Of a table by distance; -1: none.
inline std::int64_t place_of(const math::DistancePlaces& at, std::int64_t d) {
  return at.places[static_cast<std::size_t>(math::entry_of(at.low, std::ssize(at.places), d))];
}

}  // namespace posenc::cpu
