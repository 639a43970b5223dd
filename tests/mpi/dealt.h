// A call of attention of which each rank of MPI has some rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/scheme_call.h"
#include "posenc/distributed/shard.h"
#include "posenc/mpi.h"

namespace posenc::test::mpi_test {

int rank();
int ranks();

// How many schemes of a layer sum along the keys.
std::size_t sums(const LayerPlan& layer);

// Rows of this rank, as floats.
std::vector<float> rows_of(const Tensor& x, const Shard& shard);

// What a call throws, or "nothing".
std::string error_of(const std::function<void()>& call);

struct Results {
  std::vector<float> out, lse, carries;
  std::int64_t sent = 0;
  bool operator==(const Results&) const = default;
};

// Of this rank's rows, and of learned tensors what its queries add, by name.
struct BackwardResults {
  std::vector<float> q, k, v, gates;
  std::vector<std::string> names;
  std::vector<std::vector<double>> learned;
  std::int64_t sent = 0;
  bool operator==(const BackwardResults&) const = default;
};

// A call whose queries and keys are dealt, documents too.
struct Dealt {
  SchemeCall& call;
  Sharding queries, keys;
  std::vector<float> q, k, v, gates{};
  std::vector<std::int32_t> q_segments{}, k_segments{};

  Dealt(SchemeCall& of, Dealing dealing, const Mask& mask);

  const Shard& own_queries() const { return queries.ranks[static_cast<std::size_t>(rank())]; }
  const Shard& own_keys() const { return keys.ranks[static_cast<std::size_t>(rank())]; }

  Results run();
  BackwardResults run_backward(const Results& forward, const Tensor& d_out, const Tensor& d_lse);
  // With arguments that `spoil` has changed.
  BackwardResults run_backward(const Results& forward, const Tensor& d_out, const Tensor& d_lse,
                               const std::function<void(mpi::RingBackwardArgs&)>& spoil);

 private:
  LayerInputs inputs() const;
};

}  // namespace posenc::test::mpi_test
