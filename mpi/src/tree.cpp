// attend_tree: at level l rank r merges what rank r + 2^l has; the result goes down as it came up.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "agreement.h"
#include "posenc/error.h"
#include "posenc/mpi.h"

namespace posenc {
namespace {

using namespace posenc::mpi_library;

constexpr const char* kTree = "mpi::attend_tree";
constexpr int kTag = 7005;

// out and lse, one after the other, as they travel.
struct Summed {
  std::int64_t rows, heads, channels;
  std::vector<float> numbers;

  Summed(const LayerPlan& layer, std::int64_t queries)
      : rows(queries),
        heads(layer.heads),
        channels(layer.value_dim),
        numbers(static_cast<std::size_t>(queries * layer.heads * (layer.value_dim + 1))) {
    std::fill(numbers.begin() + rows * heads * channels, numbers.end(), -std::numeric_limits<float>::infinity());
  }
  TensorView out() { return tensor(numbers.data(), {rows, heads, channels}); }
  TensorView lse() { return tensor(numbers.data() + rows * heads * channels, {rows, heads}); }
  int count() const { return static_cast<int>(numbers.size()); }
};

void add_positions(Digest& digest, const Positions& positions) {
  std::visit(
      [&](const auto& x) {
        if constexpr (requires { x.start; }) {
          digest.add_number(x.start);
        } else {
          digest.add_numbers(x);
        }
      },
      positions);
}

std::int64_t checked_digest(const LayerPlan& layer, const AttendArgs& local) {
  const auto sums = [](const ScoreTerm& term) {
    return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
  };
  if (std::ranges::any_of(layer.score, sums)) {
    throw Error(kTree,
                {"layer", "have no scheme that sums along the keys, since parts are computed side by side", "of one"});
  }
  if (local.keep_going) throw Error(kTree, {"keep_going", "be omitted, since other ranks would wait", "given"});
  if (local.q.rank != 3) throw Error(kTree, {"q", "have rank 3", std::to_string(local.q.rank)});
  const std::int64_t queries = local.q.shape[0];
  check_heads(kTree, "q", local.q, std::array{queries, layer.heads, layer.head_dim});
  check_written(kTree, layer, local.out, local.lse, queries);
  if (layer.sinks) check_shape(kTree, "weights.sinks", local.weights.sinks, std::array{layer.heads});
  const LayerInputs& inputs = local.inputs;
  if (inputs.q_order.empty()) throw Error(kTree, {"q_order", "be given", "omitted"});
  if (queries * layer.heads * (layer.value_dim + 1) > std::numeric_limits<int>::max()) {
    throw Error(kTree, {"q", "have results below 2^31 numbers", "larger"});
  }
  Digest digest;
  digest.add_layer(layer);
  digest.add_tensor(local.q);
  digest.add_numbers(inputs.q_order);
  digest.add_numbers(inputs.cu_seqlens_q);
  digest.add_numbers(inputs.q_segments);
  if (inputs.q_positions) add_positions(digest, *inputs.q_positions);
  digest.add_number(inputs.prefix);
  digest.add_number(inputs.length.value_or(-1));
  digest.add_number((inputs.q_rotated ? 1 : 0) + (inputs.k_rotated ? 2 : 0) + (inputs.row_gate.empty() ? 0 : 4));
  return digest.value();
}

bool has_keys(const AttendArgs& local) {
  const auto some = [](const auto& x) { return !x.empty() && x.shape[0] > 0; };
  return some(local.k) || some(local.k_quantised);
}

Summed part_of(const LayerPlan& layer, const AttendArgs& local) {
  Summed own(layer, local.q.shape[0]);
  if (!has_keys(local)) return own;
  LayerPlan part_layer = layer;
  part_layer.sinks = false;
  AttendArgs call = local;
  call.weights.sinks = {};
  call.out = own.out();
  call.lse = own.lse();
  (void)attend(part_layer, call);
  return own;
}

}  // namespace

namespace mpi {

void attend_tree(MPI_Comm comm, const LayerPlan& layer, const AttendArgs& local) {
  std::vector<Summed> own;
  agree(comm, kTree, [&] {
    const std::int64_t digest = checked_digest(layer, local);
    own.push_back(part_of(layer, local));
    return digest;
  });
  Summed& sum = own.front();
  const int rank = rank_of(comm);
  const int ranks = ranks_of(comm);
  std::vector<int> children;
  int parent = -1;
  for (int step = 1; step < ranks && parent < 0; step *= 2) {
    if (rank % (2 * step) != 0) {
      parent = rank - step;
    } else if (rank + step < ranks) {
      children.push_back(rank + step);
    }
  }
  std::vector<Summed> theirs(children.size(), Summed(layer, local.q.shape[0]));
  std::vector<MPI_Request> requests(children.size());
  for (std::size_t n = 0; n < children.size(); ++n) {
    require(kTree, MPI_Irecv(theirs[n].numbers.data(), sum.count(), MPI_FLOAT, children[n], kTag, comm, &requests[n]));
  }
  for (std::size_t n = 0; n < children.size(); ++n) {
    require(kTree, MPI_Wait(&requests[n], MPI_STATUS_IGNORE));
    const std::vector<AttendPart> parts{{sum.out(), sum.lse()}, {theirs[n].out(), theirs[n].lse()}};
    merge({.out = sum.out(), .lse = sum.lse(), .parts = parts});
  }
  if (parent < 0) {
    const std::vector<AttendPart> all{{sum.out(), sum.lse()}};
    merge({.out = sum.out(),
           .lse = sum.lse(),
           .parts = all,
           .sinks = layer.sinks ? local.weights.sinks : ConstTensorView{}});
  } else {
    require(kTree, MPI_Send(sum.numbers.data(), sum.count(), MPI_FLOAT, parent, kTag, comm));
    require(kTree, MPI_Recv(sum.numbers.data(), sum.count(), MPI_FLOAT, parent, kTag, comm, MPI_STATUS_IGNORE));
  }
  for (std::size_t n = children.size(); n-- > 0;) {
    require(kTree, MPI_Isend(sum.numbers.data(), sum.count(), MPI_FLOAT, children[n], kTag, comm, &requests[n]));
  }
  require(kTree, MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  const std::vector<AttendPart> all{{sum.out(), sum.lse()}};
  merge({.out = local.out, .lse = local.lse, .parts = all});
}

}  // namespace mpi
}  // namespace posenc
