// Attention over the ranks of an MPI communicator that share a sequence: a ring of keys, with its backward pass, and a
// tree of partial results.
//
// A library of its own, posenc::mpi (libposenc_mpi), built where MPI is found. Python has the same on torch.distributed
// (posenc.distributed); docs/distributed.md has both.
//
// All are collective: all ranks of the communicator call them. What one of them refuses, or where they disagree, is an
// Error on all; so is what a rank's kernels refuse while they compute, and memory that one of them does not get: what
// was to be written then holds nothing of use. Messages are posted before anything is computed and waited for after;
// while the calling thread computes it calls MPI now and then, which moves them. No other thread calls MPI. They have a
// communicator of their own, which the first call makes and MPI_Comm_free of the caller's frees. A rank that dies ends
// the job, as MPI has it.
//
// Memory, beside what a rank is given and what it writes (and out in f32 where it is not of floats), and what attention
// of its own tokens alone takes: two blocks at most. A block is the keys and values, with their gates, of the rank that
// has most; of attend_ring_backward with their gradients in f32, which travel too. Schemes that sum along the keys add
// lists of 28 bytes for each token of all ranks, and 8 for each axis.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "posenc/attend.h"
#include "posenc/attend_backward.h"
#include "posenc/distributed/shard.h"
#include "posenc/export.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2::mpi {

struct RingArgs {
  const Sharding* sharding = nullptr;      // of the queries: the same on all ranks
  const Sharding* key_sharding = nullptr;  // of the keys, of cross attention; omitted: the queries'
  // Of this rank's tokens, rank 3 and one after another in memory: q, k, v, out and lse, which may be omitted, weights,
  // and of inputs log_forget and segments (likewise), prefix, length, q_rotated and k_rotated. Orders, positions and
  // documents are the shardings'. out and lse share no memory with what is read.
  AttendArgs local{};
  std::int64_t* sent = nullptr;  // written, where it is given: bytes of keys and values that went to others
  // Blocks of keys come in 4 parts, as messages of their own, or in 3 where parts would have fewer rows than
  // these: so that little is held, and, where sending takes longer, little is left to be computed when all has come.
  // The same on all ranks.
  std::int64_t part_rows = 256;
  // Written, where it is given: what attend_ring_backward takes of schemes that sum along the keys; else empty.
  std::vector<float>* carries = nullptr;
};

// attend over all ranks' keys: keys go to the ranks whose queries see any of them, ahead of what is computed; parts are
// merged in f32, in one order. Schemes that sum along the keys need contiguous or zigzag dealing. Sent is what
// shard_cost has as forward_sent.
POSENC_API void attend_ring(MPI_Comm comm, const LayerPlan& layer, const RingArgs& args);

struct RingBackwardArgs {
  const Sharding* sharding = nullptr;  // as attend_ring was given them
  const Sharding* key_sharding = nullptr;
  // Of this rank's tokens: q, k, v, weights and inputs as attend_ring was given them; out and lse as it wrote them;
  // d_out and d_lse, which may be omitted. Written: d_q, d_k, d_v, d_log_forget in f32, whatever the dtype of k, and
  // d_weights, which are of this rank's queries: their sum over ranks is the whole gradient. Each may be omitted, d_k,
  // d_v and d_log_forget by all ranks alike. All lie one after another in memory, but d_weights; what is written shares
  // none of it with what is read.
  AttendBackwardArgs local{};
  std::span<const float> carries{};
  std::int64_t* sent = nullptr;  // written, where it is given: bytes that went to others
  std::int64_t part_rows = 256;  // as attend_ring was given it
};

// attend_backward over all ranks' keys, which travel once more; gradients of them go back to their owners, and are
// summed in f32, in one order: the same bits from run to run. Sent is what shard_cost has as backward_sent, where d_k,
// d_v and d_log_forget are asked for. Refuses "inv_freq" of layers whose outputs are rotated back.
POSENC_API void attend_ring_backward(MPI_Comm comm, const LayerPlan& layer, const RingBackwardArgs& args);

// Queries that all ranks have, to the bit, over keys of which each has some, or none: local.inputs has the orders
// (q_order the same on all, k_order of its own keys), positions and all else of a part. Results are merged by a binary
// tree, in which a rank sends out and lse, f32, to its parent and to each child, and are the same bits on all ranks.
// Not for schemes that sum along the keys; refuses keep_going. Tree attention, arXiv 2408.04093.
POSENC_API void attend_tree(MPI_Comm comm, const LayerPlan& layer, const AttendArgs& local);

}  // namespace posenc::inline v0_2::mpi
