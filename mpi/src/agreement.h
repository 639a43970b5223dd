// Whether all ranks mean the same call.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string_view>

#include "communicator.h"
#include "posenc/attention.h"
#include "posenc/distributed/shard.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::mpi_library {

// FNV-1a, 64 bits.
class Digest {
 public:
  // Begins with the name of the call: a rank that calls another one is refused too.
  explicit Digest(std::string_view where) { add(where); }
  void add(std::string_view bytes);
  template <typename T>
  void add_numbers(std::span<const T> numbers) {
    add({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }
  void add_number(std::int64_t number) { add_numbers(std::span<const std::int64_t>(&number, 1)); }
  // Shape, dtype and every bit. Of what is no tensor, or points to nothing, the rank alone.
  void add_tensor(const ConstTensorView& x);
  void add_sharding(const Sharding& sharding);
  // The plan, which weights it has, of which shapes, and their numbers.
  void add_layer(const LayerPlan& layer, const LayerWeights& weights);
  std::int64_t value() const { return static_cast<std::int64_t>(state_); }

 private:
  std::uint64_t state_ = 14695981039346656037U;  // FNV's offset basis
};

// What a rank has thrown while it computed. Its messages go on, so that no other waits for what never comes; at the end
// all ranks throw.
class Failure {
 public:
  template <typename Compute>
  void attempt(const Compute& compute) {
    if (thrown_) return;
    try {
      compute();
    } catch (...) {  // memory that is not there too, or the others would wait
      thrown_ = std::current_exception();
    }
  }
  const std::exception_ptr& thrown() const { return thrown_; }
  // Throws on all ranks where any has failed, this one its own exception.
  void settle(MPI_Comm comm, const char* where) const;

 private:
  std::exception_ptr thrown_;
};

// Throws on all ranks where one of them has refused, this one its own exception, or where digests differ.
void compare(MPI_Comm comm, const char* where, const Failure& refused, std::int64_t digest);

// check() throws for what this rank refuses, else gives a digest of what it was given, which all must have alike. What
// may fail on one rank alone, memory too, belongs there: no message has gone before. Nothing here takes memory.
template <typename Check>
void agree(MPI_Comm comm, const char* where, const Check& check) {
  std::int64_t digest = 0;
  Failure refused;
  refused.attempt([&] { digest = check(); });
  compare(comm, where, refused, digest);
}

}  // namespace posenc::mpi_library
