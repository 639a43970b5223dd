// What both passes of a ring are given, checked; and which pieces of the keys which rank needs, in which order.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agreement.h"
#include "posenc/attention.h"
#include "posenc/distributed/shard.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::mpi_library {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Rows of one owner that travel together.
struct Piece {
  int owner = 0;
  std::int64_t first = 0;  // among the owner's rows
  const Shard* rows = nullptr;
  std::size_t block = 0;  // pieces of one are asked for together
  std::int64_t count() const { return std::ssize(rows->rows); }
};

struct RingCall;

// Rank r takes the keys of rank r, r - 1 and so on; the last that it needs in parts, so that where sending takes
// longer, what is still to be computed when all has come is a part. Of schemes that sum along the keys, runs of
// neighbouring rows: forward from the last to the first, back from the first to the last.
struct Schedule {
  Sharding runs{};
  std::deque<Shard> parts{};
  std::vector<Piece> pieces{};
  std::vector<std::vector<std::int64_t>> turns{};  // [turn][rank]: a piece, or -1

  Schedule(const RingCall& call, bool is_backward);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Those that a rank needs, in order.
  std::vector<std::int64_t> of_rank(int rank) const;

 private:
  void in_runs(const RingCall& call, bool is_backward);
  void in_blocks(const RingCall& call);
  // Numbers of the parts of a piece.
  std::vector<std::int64_t> cut(std::int64_t p, std::int64_t part_rows);
};

std::int64_t row_bytes(const ConstTensorView& x);

// The rank's part of a call.
struct RingCall {
  MPI_Comm comm;
  const char* where;
  const LayerPlan& layer;
  const Sharding& queries;
  const Sharding& keys;
  ConstTensorView q, k, v;
  const LayerWeights& weights;
  const LayerInputs& inputs;
  std::int64_t part_rows;
  int rank = rank_of(comm);
  int ranks = ranks_of(comm);

  // How many schemes of the layer sum along the keys; where there are any, keys come in runs, with a carry of each.
  std::int64_t sums() const;
  bool in_runs() const { return sums() > 0; }
  // As AttendArgs::carry has them, of numbers one after another.
  std::vector<std::int64_t> carry_shape() const;
  std::int64_t carry_size() const { return sums() * q_rows() * layer.heads; }
  // Whether segments of keys travel: by the weights, since a rank may have no rows.
  bool has_segments() const;
  const Shard& own_queries() const { return queries.ranks[index(rank)]; }
  const Shard& own_keys() const { return keys.ranks[index(rank)]; }
  std::int64_t q_rows() const { return std::ssize(own_queries().rows); }
  std::int64_t k_rows() const { return std::ssize(own_keys().rows); }

  [[noreturn]] void refuse(const char* field, std::string must, std::string is) const;
  // Of this rank's rows, one after another in memory.
  void check_rows(const char* field, const ConstTensorView& x, int of_rank, std::int64_t rows) const;
  // Throws Error for what this rank refuses; what all must have alike goes into the digest.
  void check(Digest& digest) const;

  // Of a part: q_order and so on of the rank's queries, k_order and so on of the piece; gates and segments are set by
  // whoever has them.
  LayerInputs inputs_of(const Shard& of_keys) const;
};

// Of RingArgs or RingBackwardArgs, which must stay.
template <typename Args>
RingCall ring_call(MPI_Comm comm, const char* where, const LayerPlan& layer, const Args& args) {
  static const Sharding none;
  const Sharding& queries = args.sharding == nullptr ? none : *args.sharding;
  return {.comm = comm,
          .where = where,
          .layer = layer,
          .queries = queries,
          .keys = args.key_sharding == nullptr ? queries : *args.key_sharding,
          .q = args.local.q,
          .k = args.local.k,
          .v = args.local.v,
          .weights = args.local.weights,
          .inputs = args.local.inputs,
          .part_rows = args.part_rows};
}

// One row of zeros in place of each tensor: what the kernels say of it they say of all.
struct Probe {
  explicit Probe(const RingCall& call);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  ConstTensorView q, k, v;
  LayerInputs inputs;
  std::vector<float> out, lse;

 private:
  std::vector<std::byte> zeros_;
  std::vector<float> gates_;
  std::vector<std::int32_t> segment_{0};
  std::vector<std::int64_t> order_{0};
  std::vector<double> position_;
};

}  // namespace posenc::mpi_library
