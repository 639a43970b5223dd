// attend_tree: at level l rank r merges what rank r + 2^l has; the result goes down as it came up.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agreement.h"
#include "check_tensors.h"
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
  Digest digest(kTree);
  digest.add_layer(layer, local.weights);
  digest.add_tensor(local.q);
  digest.add_numbers(inputs.q_order);
  digest.add_numbers(inputs.cu_seqlens_q);
  digest.add_numbers(inputs.q_segments);
  if (inputs.q_positions) add_positions(digest, *inputs.q_positions);
  digest.add_number(inputs.prefix);
  digest.add_number(inputs.length.value_or(-1));
  digest.add_number(static_cast<std::int64_t>(local.angles));
  digest.add_number(static_cast<std::int64_t>(local.products));
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

// The rank's place in the tree, its results and room for those of its children. Made where ranks still agree on the
// call, since it takes the memory that this needs, and computes.
class Node {
 public:
  Node(MPI_Comm comm, const LayerPlan& layer, const AttendArgs& local);
  void run();

 private:
  void merge_in(Summed& other);
  void add_sinks();
  void write();

  MPI_Comm comm_;
  const LayerPlan& layer_;
  const AttendArgs& local_;
  int parent_ = -1;
  std::vector<int> children_;
  Summed sum_;
  std::vector<Summed> theirs_;
  std::vector<MPI_Request> requests_;
};

Node::Node(MPI_Comm comm, const LayerPlan& layer, const AttendArgs& local)
    : comm_(comm), layer_(layer), local_(local), sum_(part_of(layer, local)) {
  const int rank = rank_of(comm);
  const int ranks = ranks_of(comm);
  for (int step = 1; step < ranks && parent_ < 0; step *= 2) {
    if (rank % (2 * step) != 0) {
      parent_ = rank - step;
    } else if (rank + step < ranks) {
      children_.push_back(rank + step);
    }
  }
  theirs_.assign(children_.size(), Summed(layer, local.q.shape[0]));
  requests_.resize(children_.size());
}

void Node::merge_in(Summed& other) {
  merge({.out = sum_.out(),
         .lse = sum_.lse(),
         .parts = std::array{AttendPart{sum_.out(), sum_.lse()}, AttendPart{other.out(), other.lse()}}});
}

void Node::add_sinks() {
  if (!layer_.sinks) return;
  merge({.out = sum_.out(),
         .lse = sum_.lse(),
         .parts = std::array{AttendPart{sum_.out(), sum_.lse()}},
         .sinks = local_.weights.sinks});
}

void Node::write() {
  merge({.out = local_.out, .lse = local_.lse, .parts = std::array{AttendPart{sum_.out(), sum_.lse()}}});
}

void Node::run() {
  Failure failure;
  for (std::size_t n = 0; n < children_.size(); ++n) {
    require(kTree,
            MPI_Irecv(theirs_[n].numbers.data(), sum_.count(), MPI_FLOAT, children_[n], kTag, comm_, &requests_[n]));
  }
  for (std::size_t n = 0; n < children_.size(); ++n) {
    require(kTree, MPI_Wait(&requests_[n], MPI_STATUS_IGNORE));
    failure.attempt([&] { merge_in(theirs_[n]); });
  }
  if (parent_ < 0) {
    failure.attempt([&] { add_sinks(); });
  } else {
    require(kTree, MPI_Send(sum_.numbers.data(), sum_.count(), MPI_FLOAT, parent_, kTag, comm_));
    require(kTree, MPI_Recv(sum_.numbers.data(), sum_.count(), MPI_FLOAT, parent_, kTag, comm_, MPI_STATUS_IGNORE));
  }
  for (std::size_t n = children_.size(); n-- > 0;) {
    require(kTree, MPI_Isend(sum_.numbers.data(), sum_.count(), MPI_FLOAT, children_[n], kTag, comm_, &requests_[n]));
  }
  require(kTree, MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  failure.attempt([&] { write(); });
  failure.settle(comm_, kTree);
}

}  // namespace

namespace mpi {

void attend_tree(MPI_Comm comm, const LayerPlan& layer, const AttendArgs& local) {
  MPI_Comm own = own_communicator(kTree, comm);
  std::optional<Node> node;
  agree(own, kTree, [&] {
    const std::int64_t digest = checked_digest(layer, local);
    node.emplace(own, layer, local);
    return digest;
  });
  node->run();
}

}  // namespace mpi
}  // namespace posenc
