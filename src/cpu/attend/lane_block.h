// Lanes of a tile: queries of heads that share a KV head, as columns, with what one pass over the keys keeps of them.
// Where the lanes of a KV head are few, those of several KV heads stand beside each other.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/place_ring.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

class TileProducts;

// One query of one head.
struct Lane {
  std::int64_t row = 0;  // of the call's query rows
  std::int64_t head = 0;
};

// Keys of which orders a lane sees: every mask by order is an interval.
struct Orders {
  std::int64_t low;
  std::int64_t high;
};
inline constexpr Orders kNoOrders{1, 0};
Orders visible_orders(const Mask& mask, std::int64_t prefix, std::int64_t order);

// What a term keeps of the lanes of a block, in floats: at most so many.
std::int64_t floats_of_term(const AttendCall& call, std::size_t t);

struct LaneBlock {
  using Floats = std::pmr::vector<float>;

  // With memory for any lanes of the call.
  LaneBlock(const AttendCall& call, std::pmr::memory_resource* memory);

  std::int64_t kv_head = 0;  // the first
  std::int64_t kv_heads = 1;
  std::int64_t used = 0;               // lanes with a query; the others repeat the last
  std::int64_t lanes = 0;              // a multiple of a register's
  std::int64_t each = 0;               // decode: lanes of a KV head, of which the last may repeat the one before
  bool one_head = false;               // rows go up by one then
  std::pmr::vector<std::int8_t> runs;  // of each coordinate: is_run
  TileProducts* scores_by = nullptr;   // QK^T of this block
  TileProducts* values_by = nullptr;   // PV, without non-finite values
  bool decode = false;  // so few lanes a KV head that products run along the channels (kernels::DecodeLanes)
  std::array<Lane, kMaxLanes> lane;
  std::array<Orders, kMaxLanes> sees;
  Orders least;                                            // the least of low and of high
  Orders most;                                             // the greatest of both
  std::array<std::int64_t, kernels::kLaneRegisters> last;  // the greatest high of each register of lanes
  std::array<float, kMaxLanes> row_scale;
  std::array<double, kMaxLanes> shift;  // what Column leaves out of the scores: lse has it back
  Floats q;  // [regions or 1][head_dim][lanes], rotated, times row_scale; decode: [lanes][..]
  std::pmr::vector<std::uint32_t> pairs;         // q in bfloat16 without row_scale, as kernels::PairProduct takes it
  std::pmr::vector<std::uint16_t> decode_pairs;  // the same as kernels::DecodePairs takes it: [lanes][head_dim]
  Floats unrotated;  // [lanes][head_dim], times row_scale, where they rotate with each tile, beside what decode_dots
                     // rotates
  Floats raw;        // [head_dim][lanes], as given
  std::pmr::vector<Floats> of_term;
  // Of each term in which rows of the lanes meet vectors of places: their products, kept from tile to tile. None: made
  // for each tile.
  std::vector<PlaceRing> met;
  Floats out;                           // [value_dim][lanes], not yet divided by sum; decode: [lanes][value_dim]
  Floats mass;                          // ValueDistance: [count + 1][lanes]
  std::array<float, kMaxLanes> length;  // of q, at least, where FarTiles asks
  std::array<float, kMaxLanes> max;
  std::array<float, kMaxLanes> sum;
  std::array<float, kMaxLanes> divisor;     // the sum of weights in bfloat16, where values were multiplied with those
  std::array<float, kMaxLanes> carry;       // CoPE's gates of the keys seen, and of those after them
  std::array<float, kMaxLanes> came_along;  // with the call, logarithms of forget gates of keys after its own

  // Of a channel of a lane in q (of the first region) or out.
  std::size_t place(std::int64_t channel, std::int64_t lane_number, std::int64_t channels) const {
    return static_cast<std::size_t>(decode ? lane_number * channels + channel : channel * lanes + lane_number);
  }
  std::int64_t head() const { return lane[0].head; }
  // The lanes are of one head, and their places along the coordinate go up by 1.
  bool is_run(std::int64_t coordinate) const { return runs[static_cast<std::size_t>(coordinate)] == 1; }
};

// Memory that is reused from block to block.
struct RowScratch {
  RowScratch(const AttendCall& call, std::pmr::memory_resource* memory);

  std::pmr::vector<float> rows;     // [kTileKeys][channels]
  std::pmr::vector<float> cos_sin;  // [kTileKeys][2 pairs]
  std::pmr::vector<const float*> cos;
  std::pmr::vector<double> positions;  // [axes][kTileKeys]
  std::pmr::vector<float> columns;     // of queries that are projected: [head_dim][lanes]
  std::pmr::vector<float> products;    // [width][lanes]
};

// cos and sin of `count` rows: [count][2 pairs]. `beyond` has for each row how far it stands beyond the origin of
// decays, or is null: no decay.
void write_angles(const AttendCall& call, const CallRotation& rotation, bool rotates, math::Side side,
                  std::int64_t count, const double* positions, const double* beyond, RowScratch& scratch,
                  float* cos_sin);

// Rotates `count` rows of floats, head_dim apart, in place: by the angles at scratch.cos; or where they stand.
void rotate_by_angles(const AttendCall& call, const CallRotation& rotation, std::int64_t count, Direction direction,
                      float* rows, const RowScratch& scratch);
void rotate_rows(const AttendCall& call, const CallRotation& rotation, bool rotates, math::Side side,
                 std::int64_t count, const double* positions, const double* beyond, Direction direction, float* rows,
                 RowScratch& scratch);

// Whether products run along the channels beside so many lanes of a KV head.
bool is_decode(const AttendCall& call, std::int64_t lanes);

// A query from the caller's tensor, as f32: [head_dim].
void read_query(const AttendCall& call, const Lane& lane, float* to);

// Lanes of a block, as many of each KV head.
struct BlockLanes {
  std::span<const Lane> lanes;
  std::int64_t kv_heads = 1;
  bool one_head = false;  // consecutive queries of one head
  bool decode = false;    // LaneBlock::decode
};

// Their queries, and nothing seen yet.
void begin(const AttendCall& call, const BlockLanes& lanes, RowScratch& scratch, LaneBlock& block);

}  // namespace posenc::cpu
