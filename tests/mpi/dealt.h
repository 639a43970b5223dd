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

// POSENC_WHOLE=1: each scheme under every mask and packing, in every dealing, instead of some of them in turn.
bool is_whole();

// How many schemes of a layer sum along the keys.
std::size_t sums(const LayerPlan& layer);

// Masks and packings of so many keys; of cross attention there are fewer queries.
std::vector<Arrangement> dealt_arrangements(std::int64_t tokens);

// Layers whose calls can be dealt; some with sinks besides.
std::vector<SchemeCase> dealt_schemes();

// The n-th of all dealings of a scheme, which are fewer where it sums along the keys; in turn, or all.
std::vector<Dealing> dealings(const LayerPlan& layer, std::uint64_t turn);

// Changes what a call is given to what floats hold, and gives it orders, as shardings count them, where the kernels
// would count others.
class InFloats {
 public:
  explicit InFloats(SchemeCall& call);
  InFloats(const InFloats&) = delete;
  InFloats& operator=(const InFloats&) = delete;

 private:
  std::vector<double> gates_, row_gates_;
  std::vector<std::int64_t> q_order_, k_order_;
};

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

  // How often a result is merged, or added to, at most: for each piece of keys; a gradient of keys for each piece and
  // some of the queries.
  double merges() const;
  double additions() const;

  const LayerPlan* instead = nullptr;  // a ring's forward pass is asked for this layer, not the call's

  Dealt(SchemeCall& of, Dealing dealing, const Mask& mask);

  const Shard& own_queries() const { return queries.ranks[static_cast<std::size_t>(rank())]; }
  const Shard& own_keys() const { return keys.ranks[static_cast<std::size_t>(rank())]; }

  Results run();
  // With arguments that `spoil` has changed.
  Results run(const std::function<void(mpi::RingArgs&)>& spoil);
  // All queries on each rank, over the keys that it has.
  Results run_tree();
  Results run_tree(const std::function<void(AttendArgs&)>& spoil);
  BackwardResults run_backward(const Results& forward, const Tensor& d_out, const Tensor& d_lse);
  // With arguments that `spoil` has changed.
  BackwardResults run_backward(const Results& forward, const Tensor& d_out, const Tensor& d_lse,
                               const std::function<void(mpi::RingBackwardArgs&)>& spoil);

 private:
  LayerInputs inputs() const;
};

}  // namespace posenc::test::mpi_test
