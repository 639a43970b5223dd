// A block of queries of one head on the way back: what the forward pass has of it (attend/lane_block.h), the gradient
// of its outputs, and sums over the keys of the gradients of its queries.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/lane_block.h"
#include "cpu/backward/backward_call.h"
#include "cpu/backward/place_mass.h"

namespace posenc::cpu {

struct GradientBlock {
  GradientBlock(const BackwardCall& backward, std::int64_t tiles, std::pmr::memory_resource* memory);

  LaneBlock lanes;
  AlignedFloats q_rows;      // [regions][lanes][key_width]: rotated, times row_scale
  AlignedFloats raw_rows;    // [lanes][key_width], as given
  AlignedFloats d_out;       // [value_dim][lanes]
  AlignedFloats d_out_rows;  // [lanes][value_width]
  AlignedFloats outputs;     // [lanes][value_width], where they are rotated back
  AlignedFloats d_q;         // [regions][head_dim][lanes], of rotated queries times row_scale
  AlignedFloats d_raw;       // [head_dim][lanes], of queries as given, through terms
  AlignedFloats at_places;   // ValueDistance: d_out . T, [count + 1][lanes]
  // Of terms, what the forward pass has in LaneBlock::of_term: QueryDistance G of each lane and SineDistance q + v,
  // [head_dim][lanes], or W^T (q + v), [width][lanes]; Label [2][lanes]; Running [count + 1][lanes].
  std::vector<AlignedFloats> of_term;
  std::vector<PlaceMass> of_places;  // of each term in which rows meet vectors by place: [places][lanes]
  std::vector<std::array<double, kMaxLanes>> of_rows;  // Column, Knots, and the row's factor of DistanceBias
  std::array<float, kMaxLanes> lse{};                  // with the sink, as scores are: inf where nothing is seen
  std::array<float, kMaxLanes> delta{};                // sum of d_out out, less d_lse's share
  double of_sink = 0.0;
  bool is_finite = true;                        // q and d_out
  AlignedFloats carries;                        // Running: [tiles][lanes], gates of the keys after each tile
  std::array<float, kMaxLanes> gates_before{};  // Running: gradients of the keys before
};

// Queries of the lanes, and what their outputs' gradients make of them; nothing has been summed yet.
void begin(const BackwardCall& backward, std::span<const Lane> lanes, RowScratch& scratch, RowRotations& angles,
           FrequencySums* frequencies, GradientBlock& block);

}  // namespace posenc::cpu
