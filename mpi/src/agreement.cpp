#include "agreement.h"

#include <exception>
#include <string>
#include <vector>

#include "posenc/error.h"

namespace posenc::mpi_library {

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

void Digest::add_layer(const LayerPlan& layer) {
  Plan plan{.known = true};
  plan.stacks.push_back({.name = "decoder", .layers = {layer}});
  add(to_json(plan));
}

void agree(MPI_Comm comm, const char* where, const std::function<std::int64_t()>& check) {
  std::int64_t own[2] = {0, 0};
  std::exception_ptr refused;
  try {
    own[1] = check();
  } catch (const Error&) {
    refused = std::current_exception();
    own[0] = 1;
  }
  const int ranks = ranks_of(comm);
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(ranks));
  require(where, MPI_Allgather(own, 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, comm));
  if (refused) std::rethrow_exception(refused);
  for (int rank = 0; rank < ranks; ++rank) {
    if (all[2 * static_cast<std::size_t>(rank)] != 0) {
      throw Error(where, {"args", "be accepted by all ranks", "refused by rank " + std::to_string(rank)});
    }
  }
  for (int rank = 1; rank < ranks; ++rank) {
    if (all[2 * static_cast<std::size_t>(rank) + 1] != all[1]) {
      throw Error(where, {"layer, shardings, dtypes and inputs", "be the same on all ranks",
                          "another on rank " + std::to_string(rank) + " than on rank 0"});
    }
  }
}

void require(const char* where, int answer) {
  if (answer == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(answer, text, &length);
  throw Error(where, {"comm", "answer", std::string(text, static_cast<std::size_t>(length))});
}

int rank_of(MPI_Comm comm) {
  int rank = 0;
  require("mpi", MPI_Comm_rank(comm, &rank));
  return rank;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  require("mpi", MPI_Comm_size(comm, &ranks));
  return ranks;
}

}  // namespace posenc::mpi_library
