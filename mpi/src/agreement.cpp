#include "agreement.h"

#include <array>
#include <string>

#include "posenc/attend_backward.h"
#include "posenc/error.h"
#include "posenc/named_weights.h"
#include "weight_numbers.h"

namespace posenc::mpi_library {
namespace {

// The least of all ranks' numbers.
template <std::size_t n>
std::array<std::int64_t, n> least_of(MPI_Comm comm, const char* where, const std::array<std::int64_t, n>& own) {
  std::array<std::int64_t, n> out{};
  require(where, MPI_Allreduce(own.data(), out.data(), static_cast<int>(n), MPI_INT64_T, MPI_MIN, comm));
  return out;
}

}  // namespace

void Digest::add(std::string_view bytes) {
  for (const char c : bytes) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211U;  // FNV's prime
}

void Digest::add_sharding(const Sharding& sharding) {
  add_number(sharding.tokens);
  for (const Shard& one : sharding.ranks) {
    add_numbers(std::span<const std::int64_t>(one.rows));
    add_numbers(std::span<const std::int64_t>(one.order));
    add_numbers(std::span<const std::int32_t>(one.cu_seqlens));
    add_numbers(std::span<const double>(one.positions));
    add_number(std::ssize(one.rows));
  }
}

void Digest::add_layer(const LayerPlan& layer, const LayerWeights& weights) {
  Plan plan{.known = true};
  plan.stacks.push_back({.name = "decoder", .layers = {layer}});
  add(to_json(plan));
  for (const std::string& one : gradient_names(layer, weights)) {
    add(one);
    add_numbers(std::span<const std::int64_t>(gradient_shape(layer, weights, one)));
  }
  add_weights(*this, weights);
}

void Digest::add_tensor(const ConstTensorView& x) {
  add_number(x.rank);
  if (x.rank < 1 || x.rank > kMaxRank || x.data == nullptr) return;
  add_number(static_cast<std::int64_t>(x.dtype));
  add_numbers(std::span<const std::int64_t>(x.shape));
  // Elements of the last axis, of each place on the axes before it.
  const auto last = static_cast<std::size_t>(x.rank - 1);
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> strides{};
  sizes.fill(1);
  for (std::size_t axis = 0; axis < last; ++axis) {
    sizes[axis] = x.shape[axis];
    strides[axis] = x.strides[axis];
  }
  const auto element = static_cast<std::size_t>(bytes_of(x.dtype));
  const auto* const data = static_cast<const char*>(x.data);
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    for (std::int64_t j = 0; j < sizes[1]; ++j) {
      for (std::int64_t l = 0; l < sizes[2]; ++l) {
        const std::int64_t row = i * strides[0] + j * strides[1] + l * strides[2];
        for (std::int64_t n = 0; n < x.shape[last]; ++n) {
          add({data + (row + n * x.strides[last]) * static_cast<std::int64_t>(element), element});
        }
      }
    }
  }
}

void compare(MPI_Comm comm, const char* where, const Failure& refused, std::int64_t digest) {
  const std::int64_t rank = rank_of(comm);
  const std::int64_t ranks = ranks_of(comm);
  // ~x is largest where x is least, so one message says whether all digests are the same.
  const std::array all = least_of(comm, where, std::array{refused.thrown() ? rank : ranks, digest, ~digest});
  if (refused.thrown()) std::rethrow_exception(refused.thrown());
  if (all[0] < ranks) {
    throw Error(where, {"args", "be accepted by all ranks", "refused by rank " + std::to_string(all[0])});
  }
  if (all[1] == ~all[2]) return;
  std::int64_t first = digest;
  require(where, MPI_Bcast(&first, 1, MPI_INT64_T, 0, comm));
  const std::array other = least_of(comm, where, std::array{digest == first ? ranks : rank});
  throw Error(where, {"call, layer, shardings, dtypes and inputs", "be the same on all ranks",
                      "another on rank " + std::to_string(other[0]) + " than on rank 0"});
}

void Failure::settle(MPI_Comm comm, const char* where) const {
  const std::int64_t ranks = ranks_of(comm);
  const std::array first = least_of(comm, where, std::array{thrown_ ? std::int64_t{rank_of(comm)} : ranks});
  if (thrown_) std::rethrow_exception(thrown_);
  if (first[0] < ranks) {
    throw Error(where, {"args", "be computed by all ranks", "refused by rank " + std::to_string(first[0])});
  }
}

}  // namespace posenc::mpi_library
