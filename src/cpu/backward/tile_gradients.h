// The transposes of the score terms over one tile of [keys][lanes]: an overload for each primitive (math/primitives.h),
// as attend/tile_terms.h has them the other way. Each takes the gradients of the scores that it was added to, and adds
// to those of its numbers, of queries and keys as given, or of both.
//
// A vector by distance, s += row . E[place]: mass[place] = sum of d over the scores of that place, then
//
//   d row += E^T mass,   d E[place] += mass[place] row      each one product for the places of many tiles: place_mass.h
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/tile_terms.h"
#include "cpu/backward/gradient_block.h"
#include "cpu/backward/place_mass.h"

namespace posenc::cpu {

// Gradients of one tile's keys by one task, all of its blocks: [kTileKeys] rows.
struct KeyGradients {
  AlignedFloats keys;                        // [regions][kTileKeys][key_width]
  AlignedFloats raw_keys;                    // [kTileKeys][key_width], of keys as given, where others rotate
  AlignedFloats values;                      // [kTileKeys][value_width]
  std::vector<std::vector<double>> columns;  // of each term: [heads of the group][kTileKeys], or nothing

  // Where no key rotates, one sum has both.
  float* of_given() { return raw_keys.empty() ? keys.data() : raw_keys.data(); }
};

struct GradientScratch {
  GradientScratch(const BackwardCall& backward, std::pmr::memory_resource* memory);

  TermScratch terms;
  std::optional<SineRows>& sines(std::size_t t) { return terms.sines[t]; }
  AlignedFloats mass;            // [places + 1][lanes]
  std::vector<KeyMass> of_keys;  // of each term: KeyDistance
  AlignedFloats raw_keys;        // [kTileKeys][key_width], copied
  AlignedFloats rows;            // [lanes][width] of a term
  AlignedFloats columns;         // [head_dim][lanes]
  AlignedFloats knots;           // [2 segments][lanes]
  AlignedFloats of_x;            // [kTileKeys][lanes], Knots
  std::array<float, 2 * static_cast<std::size_t>(kMaxLanes)> ones;
};

// c[r] += sum_k a[r a_row + k a_step] b[k], rows of `width` channels, whole registers of them.
struct RowsProduct {
  const float* a;
  std::int64_t a_row;
  std::int64_t a_step;
  const float* b;
  std::int64_t b_row;
  float* c;
  std::int64_t c_row;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t width;
};
void add_rows_product(const AttendCall& call, const float* ones, const RowsProduct& x);
// Where a weight a is 0, whatever it is multiplied with adds nothing, NaN neither: what is hidden may hold anything.
void add_seen_rows(const RowsProduct& x);
inline void add_rows(const AttendCall& call, const float* ones, bool is_careful, const RowsProduct& x) {
  is_careful ? add_seen_rows(x) : add_rows_product(call, ones, x);
}
bool are_finite_rows(const FloatRows& rows, std::int64_t count, std::int64_t channels);

// What has been summed by place, multiplied, and added to gradients of what it met: of the block's queries, which have
// passed all tiles, or of the keys of a tile, which all blocks have passed.
void multiply_places(const BackwardCall& backward, GradientScratch& scratch, GradientBlock& block, std::size_t t,
                     TermSums& sums);
void multiply_key_places(const BackwardCall& backward, GradientScratch& scratch, KeyTile& tile, std::size_t t,
                         KeyGradients& keys, TermSums& sums);

// The tile's first keys as given, which end with a whole register.
FloatRows padded_keys(const BackwardCall& backward, GradientScratch& scratch, KeyTile& tile, std::int64_t count);

// Made for one block and one tile.
class TileGradients {
 public:
  // `of_terms`: of each term of the layer, sums of the heads of one GQA group.
  TileGradients(const BackwardCall& backward, GradientScratch& scratch, GradientBlock& block, KeyTile& tile,
                TileTerms& places, KeyGradients& keys, std::vector<TermSums>& of_terms);

  // Of biases, then of content terms, of gradients [keys][lanes].
  void add_bias(const float* d) { add_terms(math::Part::bias, d); }
  void add_content(const float* d) { add_terms(math::Part::content, d); }
  // += d_out . T of each weight.
  void add_of_values(const math::ValueDistance& values, float* d_weights);
  // Gates of the scores x, of which d are the gradients of what they added: gradients of x, written.
  void pass_gates(const float* x, const float* d, const float* carry, float* places, float* to);

 private:
  void add_terms(math::Part part, const float* d);
  void add(const math::DistanceBias& term, std::size_t t, const float* d);
  void add(const math::LinearDistance& term, std::size_t t, const float* d);
  void add(const math::Knots& term, std::size_t t, const float* d);
  void add_run_of_knots(const math::Knots& term, std::size_t t, const float* d);
  void add(const math::Column& term, std::size_t t, const float* d);
  void add(const math::QueryDistance& term, std::size_t t, const float* d);
  void add(const math::KeyDistance& term, std::size_t t, const float* d);
  void add(const math::SineDistance& term, std::size_t t, const float* d);
  void add(const math::KeyVector& term, std::size_t t, const float* d);
  void add(const math::Label& term, std::size_t t, const float* d);
  void add(const math::Running&, std::size_t, const float*) {}  // pass_gates

  void add_places(const math::DistancePlaces& at, std::size_t t, const float* d);
  void add_sums_of_keys(const float* d, float* sums);
  void add_run_of_sines(const math::SineDistance& term, std::size_t t, std::int64_t low, std::int64_t high,
                        const float* d);
  void add_any_sines(const math::SineDistance& term, std::size_t t, const float* d);
  void add_sines(std::size_t t, const float* sines, std::int64_t count, const float* mass);
  template <typename Offset>
  void add_mass(const float* d, std::int64_t coordinate, const Offset& offset, float* mass);
  template <typename Offset>
  void sum_mass(const float* d, std::int64_t coordinate, std::int64_t places, const Offset& offset);
  const float* diagonals(const float* d, const float* factor);

  std::int64_t head() const { return block_.lanes.head(); }
  std::int64_t of_group() const { return head() % call_.group; }
  kernels::Scores scores(const float* d) const { return {const_cast<float*>(d), tile_.count(), block_.lanes.lanes}; }

  const BackwardCall& backward_;
  const AttendCall& call_;
  GradientScratch& scratch_;
  GradientBlock& block_;
  KeyTile& tile_;
  TileTerms& places_;
  KeyGradients& keys_;
  std::vector<TermSums>& of_terms_;
};

}  // namespace posenc::cpu
