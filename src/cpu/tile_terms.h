// The score terms of a layer, over one tile: an overload for each primitive (math/primitives.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/attend_call.h"
#include "cpu/key_tile.h"
#include "cpu/lane_block.h"

namespace posenc::cpu {

// Places of a table that are multiplied with a tile at a time.
inline constexpr std::int64_t kBandPlaces = 128;

// Memory of one thread for what terms make of one tile.
struct TermScratch {
  std::vector<float> run;            // by distance: [keys + lanes]
  std::vector<std::int32_t> places;  // likewise, or [keys][lanes]
  std::vector<float> each;           // [keys][lanes]
  std::vector<float> edges;          // of a function that bends
  std::vector<float> bends;
  std::vector<float> band;  // products with rows of a table
  std::vector<float> band_of_head;
};
TermScratch term_scratch(const AttendCall& call);

class TileTerms {
 public:
  TileTerms(const AttendCall& call, TermScratch& scratch, LaneBlock& block, KeyTile& tile, float* scores);

  // Content terms, times row_scale.
  void add_content();
  // -inf where the mask, or the caller, lets nothing through.
  void hide();
  // Gates of the content scores, kept until add_bias.
  void sum_gates(float* out);
  void add_bias(const float* of_gates);

  // value[place of the distance] += weight: the weights stand where scores were.
  void add_mass(const math::ValueDistance& values);

 private:
  friend struct AddTerm;
  void add_terms(math::Part part);
  void add(const math::DistanceBias& term, std::size_t t);
  void add(const math::LinearDistance& term, std::size_t t);
  void add(const math::Knots& term, std::size_t t);
  void add(const math::Column& term, std::size_t t);
  void add(const math::QueryDistance& term, std::size_t t);
  void add(const math::KeyDistance& term, std::size_t t);
  void add(const math::KeyVector& term, std::size_t t);
  void add(const math::Label& term, std::size_t t);
  void add(const math::Running& term, std::size_t t);

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
  // s += factor * strip
  void add(const Strip& strip, const float* factor);
  template <typename Value>
  void add_each(const Value& value, const float* factor);
  struct PlaceRange {
    std::int64_t low;
    std::int64_t high;  // below low: none
  };
  PlaceRange places(const math::DistancePlaces& at) const;
  std::int64_t place(const math::DistancePlaces& at, std::int64_t lane, std::int64_t m) const;
  // offset(place, lane's head) for each lane and key; returns the step from key to key.
  template <typename Offset>
  std::int64_t fill_places(const math::DistancePlaces& at, const Offset& offset, const std::int32_t*& first);
  // Of a matrix that the caller gives: member of the batch, head, query, key.
  std::array<std::int64_t, 4> place_in_matrix(std::int64_t lane, std::int64_t m) const;
  kernels::Scores scores() const { return {scores_, tile_.count(), block_.lanes}; }
  const float* factor(math::Part part) const { return part == math::Part::content ? block_.row_scale.data() : nullptr; }

  const AttendCall& call_;
  TermScratch& scratch_;
  LaneBlock& block_;
  KeyTile& tile_;
  float* scores_;
};

}  // namespace posenc::cpu
