// One call of attend: the layer's primitives in the types that kernels take, where the tensors or pages of the KV cache
// are, and which kernels multiply. Made once a call, then read by all threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpu/angles/angle_rows.h"
#include "cpu/attend/query_numbers.h"
#include "cpu/attend/term_vectors.h"
#include "cpu/cache/codes_view.h"
#include "kernels/kernels.h"
#include "math/call_rows.h"
#include "math/primitives.h"
#include "posenc/attend.h"
#include "posenc/line_allocator.h"

namespace posenc::cpu {

inline constexpr std::int64_t kTileKeys = 64;
// Lanes of a block at most: queries that meet a tile of keys together, each a column of its scores.
inline constexpr std::int64_t kMaxLanes = 48;  // kernels::kLaneRegisters of the widest registers

// The least multiple of `of` that is at least n.
inline std::int64_t whole(std::int64_t n, std::int64_t of) { return (n + of - 1) / of * of; }

// Elements of one dtype at [row][head][channel]; strides in elements, that of channels is 1. Of quantised rows elements
// are bytes, and `element` is what becomes of them.
struct RowsView {
  const char* data = nullptr;
  kernels::Element element = kernels::Element::f32;
  std::int64_t bytes = 0;   // of an element
  std::int64_t tokens = 1;  // of one member of the batch, or of one block of pages
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;
  CodesView codes{};

  bool is_quantised() const { return codes.facts != nullptr; }
  // Codes that the products of decode cannot take as they are: channels have scales of their own.
  bool is_by_channel() const { return is_quantised() && codes.by_channel(); }
  // Elements of a head's row.
  std::int64_t row_size(std::int64_t channels) const { return is_quantised() ? codes.row_bytes() : channels; }

  // Channel 0 of a head: of a member of the batch (a block of a paged cache) and a token in it, or of a row that is
  // counted through the batch.
  const void* at(std::int64_t member, std::int64_t token, std::int64_t head) const {
    return data + (member * batch_stride + token * row_stride + head * head_stride) * bytes;
  }
  const void* at(std::int64_t row, std::int64_t head) const { return at(row / tokens, row % tokens, head); }
};
RowsView rows_view(const ConstTensorView& x);

// A token's place: in a member of the batch, or in a block of a paged cache.
struct TokenPlace {
  std::int64_t member;
  std::int64_t token;
};

using AlignedFloats = std::vector<float, LineAllocator<float>>;

// A rotation with its angles' rule.
// `rule` points into AttendCall::lowered.
struct CallRotation {
  const math::Rotation* rule;
  AngleRule angles;
  std::int64_t pairs;
  // Cos and sin of all rows, [rows][2 pairs], or nothing: kept_angles.h
  AlignedFloats of_queries{};
  AlignedFloats of_keys{};
};

// SineDistance where not its queries are projected, but the distances that occur.
struct ProjectedDistances {
  std::vector<float> rows;  // [heads][count][channels]; empty: queries are
  math::DistancePlaces at;
};

// Arrays by term are in the order of lowered.terms.
struct AttendCall {
  const LayerPlan& layer;
  const AttendArgs& args;
  const kernels::KernelTable& kernels;
  const kernels::AttentionKernels& attention;
  math::CallRows rows;
  math::Lowered lowered;
  std::vector<CallRotation> rotations;
  std::vector<ProjectedDistances> projected;  // of each term
  std::vector<TermVectors> own_vectors;       // of each term: nothing where they are kept
  std::span<const TermVectors> kept_vectors;  // of each term that a prepared layer keeps them of, or of none
  std::vector<float> value_vectors;           // ValueDistance: [heads or 1][count][value_dim]
  RowsView q, k, v;
  // Of the forward pass, where it is over. A query whose sum is -inf has seen nothing: it is read as zeros, whatever is
  // in it, so that no gradient has any of that.
  TensorView lse{};
  std::int64_t group = 1;      // heads that share a KV head
  std::int64_t max_lanes = 0;  // kernels::kLaneRegisters registers
  // Terms multiply queries, or keys, as they are given: before RoPE and without the softmax scale.
  bool takes_raw_queries = false;
  bool takes_raw_keys = false;
  bool rotates_keys = false;      // or lets them decay, by any of the rotations
  bool rotates_by_steps = false;  // a tile's keys may rotate by their steps from its first: DecodeProducts
  // The only rotation, if it rotates keys: where lanes are few, products rotate by it what they read
  // (kernels::LoadRotation).
  const CallRotation* in_decode_dots = nullptr;
  // Of the products that are multiplied in bfloat16, in blocks whose lanes are not few; null: in floats.
  const kernels::PairKernels* score_pairs = nullptr;
  const kernels::PairKernels* value_pairs = nullptr;
  const kernels::PairKernels* decode_pairs = nullptr;  // the same of scores in blocks whose lanes are few
  Carries carries{};                                   // of args.carry
  bool runs_backwards = false;                         // a term is summed from the last key to the first
  bool adds_bias = false;                              // a term, or the caller, adds to scores that the mask has hidden

  bool has_seen_nothing(std::int64_t row, std::int64_t head) const;
  const TermVectors& vectors(std::size_t t) const { return is_kept(t) ? kept_vectors[t] : own_vectors[t]; }
  bool is_kept(std::size_t t) const { return t < kept_vectors.size() && covers(kept_vectors[t], lowered.terms[t]); }
  // SineDistance
  bool projects_queries(std::size_t t) const { return vectors(t).sines && projected[t].rows.empty(); }
  std::int64_t rotated_width() const;  // cos and sin of a row, of the widest rotation
  // Where a query's channel stands beside keys that are rotated in_decode_dots.
  std::int64_t place_beside_rotated(std::int64_t channel) const;
  // Channel 0 of a token's key or value (x: k or v), found by the block table where the cache is paged.
  const void* key(std::size_t sequence, std::int64_t token, std::int64_t head, const RowsView& x) const;
  TokenPlace place(std::size_t sequence, std::int64_t token, const RowsView& x) const;
};

// The arguments have been checked. What is kept was made of the same layer and weights, for the same kernels.
AttendCall attend_call(const LayerPlan& layer, const AttendArgs& args, const math::CallSizes& sizes,
                       const kernels::KernelTable& kernels, std::span<const TermVectors> kept = {});

}  // namespace posenc::cpu
