// Whether all ranks mean the same call.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "posenc/distributed/shard.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::mpi_library {

// FNV-1a, 64 bits.
class Digest {
 public:
  void add(std::string_view bytes);
  template <typename T>
  void add_numbers(std::span<const T> numbers) {
    add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }
  void add_number(std::int64_t number) { add_numbers(std::span<const std::int64_t>(&number, 1)); }
  // Shape, dtype and every bit, of rank 3 with its channels adjacent.
  void add_tensor(const ConstTensorView& x);
  void add_sharding(const Sharding& sharding);
  void add_layer(const LayerPlan& layer);
  std::int64_t value() const { return static_cast<std::int64_t>(state_); }

 private:
  std::uint64_t state_ = 14695981039346656037U;  // FNV's offset basis
};

// Calls check(), which throws for what this rank refuses, else gives a digest of what it was given. Throws on all ranks
// where one of them has thrown, this one its own exception, or where digests differ.
void agree(MPI_Comm comm, const char* where, const std::function<std::int64_t()>& check);

// Throws Error for a tensor that is not of that shape, has no memory, or whose last axis is not adjacent; of heads, for
// one of f64 too.
void check_shape(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape);
void check_heads(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape);
// out and lse of so many queries; lse may be omitted.
void check_written(const char* where, const LayerPlan& layer, const TensorView& out, const TensorView& lse,
                   std::int64_t queries);

// What a call of MPI answered. With MPI_ERRORS_ARE_FATAL, the default, it has ended the job before.
void require(const char* where, int answer);

int rank_of(MPI_Comm comm);
int ranks_of(MPI_Comm comm);

}  // namespace posenc::mpi_library
