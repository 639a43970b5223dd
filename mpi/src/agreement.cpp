#include "agreement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
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

void Digest::add_tensor(const ConstTensorView& x) {
  add_number(static_cast<std::int64_t>(x.dtype));
  add_numbers(std::span<const std::int64_t>(x.shape));
  const std::int64_t element = bytes_of(x.dtype);
  const auto* const data = static_cast<const char*>(x.data);
  for (std::int64_t row = 0; row < x.shape[0]; ++row) {
    for (std::int64_t head = 0; head < x.shape[1]; ++head) {
      const std::int64_t at = row * x.strides[0] + head * x.strides[1];
      add({data + at * element, static_cast<std::size_t>(x.shape[2] * element)});
    }
  }
}

void agree(MPI_Comm comm, const char* where, const std::function<std::int64_t()>& check) {
  std::int64_t own[2] = {0, 0};
  std::exception_ptr refused;
  try {
    own[1] = check();
  } catch (...) {  // memory that is not there too, or the others would wait
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

void check_shape(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  const auto refuse = [&](std::string must, std::string is) {
    throw Error(where, {field, std::move(must), std::move(is)});
  };
  const auto listed = [](std::span<const std::int64_t> sizes) {
    std::string out;
    for (const std::int64_t size : sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
    return "[" + out + "]";
  };
  const std::span<const std::int64_t> is(x.shape.data(), static_cast<std::size_t>(x.rank));
  if (!std::ranges::equal(is, shape)) {
    refuse("be of shape " + listed(shape), x.empty() ? "omitted" : "of " + listed(is));
  }
  const std::size_t last = shape.size() - 1;
  if (shape[last] > 1 && x.strides[last] != 1) refuse("have its last axis adjacent", "strided");
  const bool has_numbers = std::ranges::all_of(shape, [](std::int64_t size) { return size > 0; });
  if (has_numbers && x.data == nullptr) refuse("point to its numbers", "null");
}

void check_heads(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  check_shape(where, field, x, shape);
  if (x.dtype >= DType::f64) throw Error(where, {field, "be f32, f16 or bf16", std::string(name(x.dtype))});
}

void check_written(const char* where, const LayerPlan& layer, const TensorView& out, const TensorView& lse,
                   std::int64_t queries) {
  const std::array<std::int64_t, 3> shape{queries, layer.heads, layer.value_dim};
  check_heads(where, "out", out, shape);
  if (lse.empty()) return;
  check_heads(where, "lse", lse, std::span(shape).first(2));
  if (lse.dtype != DType::f32) throw Error(where, {"lse", "be f32", std::string(name(lse.dtype))});
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
