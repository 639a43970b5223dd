// Attention over the ranks of an MPI communicator that share a sequence: a ring of keys, and a tree of partial results.
//
// A library of its own, posenc::mpi (libposenc_mpi), built where MPI is found. Python has the same on torch.distributed
// (posenc.distributed), with its backward pass; docs/distributed.md has both.
//
// Both are collective: all ranks of the communicator call them. What one of them refuses, or where they disagree, is an
// Error on all. Messages are posted before anything is computed and waited for after; calls of MPI are made by the
// calling thread alone. A rank that dies ends the job, as MPI has it.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "posenc/attend.h"
#include "posenc/distributed/shard.h"
#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2::mpi {

struct RingArgs {
  const Sharding* sharding = nullptr;      // of the queries: the same on all ranks
  const Sharding* key_sharding = nullptr;  // of the keys, of cross attention; omitted: the queries'
  // Of this rank's tokens, rank 3 and one after another in memory: q, k, v, out and lse, which may be omitted, weights,
  // and of inputs log_forget and segments (likewise), prefix, length, q_rotated and k_rotated. Orders, positions and
  // documents are the shardings'.
  AttendArgs local{};
  std::int64_t* sent = nullptr;  // written, where it is given: bytes of keys and values that went to others
};

// attend over all ranks' keys: keys go to the ranks whose queries see any of them, a block ahead of what is computed;
// parts are merged in f32, in one order. Schemes that sum along the keys need contiguous or zigzag dealing. Sent is
// what shard_cost has as forward_sent.
POSENC_API void attend_ring(MPI_Comm comm, const LayerPlan& layer, const RingArgs& args);

// Queries that all ranks have, over keys of which each has some, or none: local.inputs has the orders (q_order the same
// on all, k_order of its own keys), positions and all else of a part. Results are merged by a binary tree, and are the
// same bits on all ranks. Not for schemes that sum along the keys. Tree attention, arXiv 2408.04093.
POSENC_API void attend_tree(MPI_Comm comm, const LayerPlan& layer, const AttendArgs& local);

}  // namespace posenc::inline v0_2::mpi
