// What both passes of a ring are given, checked, and cut into rows.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "agreement.h"
#include "check_tensors.h"
#include "posenc/attention.h"
#include "posenc/distributed/shard.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::mpi_library {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t row_bytes(const ConstTensorView& x);

// Rows first .. first + count - 1 along an axis.
template <typename Pointer>
BasicTensorView<Pointer> rows_of(BasicTensorView<Pointer> x, std::int64_t first, std::int64_t count, int axis = 0) {
  if (x.empty()) return x;
  using Bytes = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const std::byte*, std::byte*>;
  x.data = static_cast<Bytes>(x.data) + first * x.strides[index(axis)] * bytes_of(x.dtype);
  x.shape[index(axis)] = count;
  return x;
}

// What a call is told of some neighbouring rows of a shard: views, and copies of what is another in a part.
struct RowInputs {
  void place(const Shard& of, std::int64_t first, std::int64_t count);

  std::span<const std::int64_t> order{};
  std::vector<std::int32_t> cu_seqlens{};
  std::vector<double> positions{};  // [axes, rows]
};

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
  // Carries of all queries, one after another in memory; of some of them as AttendArgs::carry has them.
  std::int64_t carry_size() const { return sums() * q_rows() * layer.heads; }
  template <typename Float>
  auto carry_of(Float* all, std::int64_t first, std::int64_t count) const {
    if (sums() > 1) return rows_of(tensor(all, DType::f32, {sums(), q_rows(), layer.heads}), first, count, 1);
    return rows_of(tensor(all, DType::f32, {q_rows(), layer.heads}), first, count);
  }
  // Whether segments of keys travel: by the weights, since a rank may have no rows.
  bool has_segments() const;
  const Shard& own_queries() const { return queries.ranks[index(rank)]; }
  const Shard& keys_of(int owner) const { return keys.ranks[index(owner)]; }
  const Shard& own_keys() const { return keys_of(rank); }
  std::int64_t q_rows() const { return std::ssize(own_queries().rows); }
  std::int64_t k_rows() const { return std::ssize(own_keys().rows); }
  std::int64_t largest_block() const;  // rows of keys of the rank that has most
  // Beside the first piece of keys, which is computed at once, results of so many queries at a time are made and
  // merged: of an eighth of a block, in f32, or of a tile where that is more, up to half a block.
  std::int64_t rows_at_a_time() const;

  [[noreturn]] void refuse(const char* field, std::string must, std::string is) const;
  // Of this rank's rows, one after another in memory.
  void check_rows(const char* field, const ConstTensorView& x, int of_rank, std::int64_t rows) const;
  // Throws Error for what this rank refuses; what all must have alike goes into the digest.
  void check(Digest& digest) const;

  // Orders, positions and documents of a part's queries and keys, and the segments of its queries; gates and segments
  // of keys are set by whoever has them.
  LayerInputs inputs_of(const RowInputs& of_queries, std::int64_t first_query, const RowInputs& of_keys) const;
};

// Of RingArgs or RingBackwardArgs, which must stay.
template <typename Args>
RingCall ring_call(MPI_Comm comm, const char* where, const LayerPlan& layer, const Args& args) {
  static const Sharding none;
  const Sharding& queries = args.sharding == nullptr ? none : *args.sharding;
  return {.comm = own_communicator(where, comm),
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
