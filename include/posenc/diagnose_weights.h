// In which order the q and k projections of a checkpoint have their channels, half-split or interleaved, told from the
// trained numbers alone.
//
// A pair (a, b) gives a score the trace of its block [[q_a.k_a, q_a.k_b], [q_b.k_a, q_b.k_b]] of products of rows, and
// turning both of its channels, in q and in k alike, changes nothing. Training makes the pair's part of the score
// larger or smaller as a whole: the block grows along u u^T, whatever the direction u of the plane is, so that
//
//   S(a, b) = (q_a.k_a)(q_b.k_b) + (q_a.k_b)(q_b.k_a)     rows of length 1
//
// is above 0 for a pair. So it may be of channels whose frequencies are close, which want the same; hence the contrast,
//
//   half          mean S(p, p + d/2) - mean of S(p, p + d/2 + 1) and S(p + 1, p + d/2)
//   interleaved   mean S(2p, 2p + 1) - mean S(2p + 1, 2p + 2)
//
// which is above 0 for the pairing that was trained with, and for the other one, and for rows that were not trained, is
// not: Student's t over KV heads, and over the pairs of all layers. Heads that have a part in common, as those of a
// model that was widened from a smaller one, are no evidence of their own; pairs are.
//
// Thread safety: a function of its arguments, on the caller's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "posenc/export.h"
#include "posenc/rope.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// The projections of one layer, of any dtype.
struct QueryKeyRows {
  ConstTensorView q{};  // [heads * head_dim, inputs]
  ConstTensorView k{};  // [kv_heads * head_dim, inputs]
  std::int64_t head_dim = 0;
  std::int64_t first_channel = 0;  // of the rotated ones
  std::int64_t dim = 0;            // rotated channels
};

struct PairingDiagnosis {
  std::optional<Pairing> pairing{};  // nothing: cannot tell
  double confidence = 0.0;           // that it is this one; one half where it cannot tell
  // The contrast in standard deviations, as of a normal number: the smaller one of heads and pairs.
  double half = 0.0;
  double interleaved = 0.0;
  std::int64_t kv_heads = 0;  // of all layers that were looked at
  bool operator==(const PairingDiagnosis&) const = default;
};

// Throws Error for rows that do not fit, and for a NaN or an infinity.
POSENC_API PairingDiagnosis diagnose_pairing(std::span<const QueryKeyRows> layers);

// The verdict, what it rests on, and what to do: "the rows of the q and k projections are interleaved ...".
POSENC_API std::string describe(const PairingDiagnosis& diagnosis);
POSENC_API std::string to_json(const PairingDiagnosis& diagnosis);

}  // namespace posenc::inline v0_2
