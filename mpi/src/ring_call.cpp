#include "ring_call.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "posenc/error.h"

namespace posenc::mpi_library {
namespace {

bool sums_along_keys(const ScoreTerm& term) {
  return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
}

bool is_dense(const ConstTensorView& x) {
  std::int64_t stride = 1;
  for (int axis = x.rank; axis-- > 0;) {
    if (x.shape[index(axis)] > 1 && x.strides[index(axis)] != stride) return false;
    stride *= x.shape[index(axis)];
  }
  return true;
}

}  // namespace

Schedule::Schedule(const LayerPlan& layer, const Sharding& queries, const Sharding& keys, std::int64_t prefix,
                   bool in_runs, bool is_backward) {
  const auto ranks = std::ssize(queries.ranks);
  if (in_runs) {
    ShardRuns made = runs_of(keys);
    runs = std::move(made.runs);
    std::vector<std::int64_t> taken(keys.ranks.size());
    for (std::size_t n = 0; n < made.owners.size(); ++n) {
      std::int64_t& first = taken[index(made.owners[n])];
      pieces.push_back({static_cast<int>(made.owners[n]), first, &runs.ranks[n]});
      first += pieces.back().count();
    }
    const ShardWork work = shard_work(queries, runs, layer.mask, prefix);
    for (std::int64_t p = 0; p < std::ssize(pieces); ++p) {
      turns.emplace_back();
      for (std::int64_t r = 0; r < ranks; ++r) turns.back().push_back(work.pairs_of(r, p) > 0 ? p : -1);
    }
    if (!is_backward) std::ranges::reverse(turns);
    return;
  }
  for (std::size_t r = 0; r < keys.ranks.size(); ++r) pieces.push_back({static_cast<int>(r), 0, &keys.ranks[r]});
  const ShardWork work = shard_work(queries, keys, layer.mask, prefix);
  for (std::int64_t s = 0; s < ranks; ++s) {
    turns.emplace_back();
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::int64_t p = (r - s + ranks) % ranks;
      turns.back().push_back(work.pairs_of(r, p) > 0 ? p : -1);
    }
  }
}

std::vector<std::int64_t> Schedule::of_rank(int rank) const {
  std::vector<std::int64_t> out;
  for (const std::vector<std::int64_t>& turn : turns) {
    if (turn[index(rank)] >= 0) out.push_back(turn[index(rank)]);
  }
  return out;
}

std::int64_t row_bytes(const ConstTensorView& x) {
  std::int64_t elements = 1;
  for (int axis = 1; axis < x.rank; ++axis) elements *= x.shape[index(axis)];
  return elements * bytes_of(x.dtype);
}

bool RingCall::in_runs() const { return std::ranges::any_of(layer.score, sums_along_keys); }

void RingCall::refuse(const char* field, std::string must, std::string is) const {
  throw Error(where, {field, std::move(must), std::move(is)});
}

void RingCall::check_rows(const char* field, const ConstTensorView& x, int of_rank, std::int64_t rows) const {
  if (x.rank != of_rank || x.shape[0] != rows) {
    refuse(field, "have rank " + std::to_string(of_rank) + " and " + std::to_string(rows) + " rows",
           "of rank " + std::to_string(x.rank) + " and " + std::to_string(x.rank > 0 ? x.shape[0] : 0));
  }
  if (!is_dense(x)) refuse(field, "lie row after row in memory", "strided");
  if (row_bytes(x) > std::numeric_limits<int>::max()) refuse(field, "have rows below 2 GiB", "larger");
}

void RingCall::check(Digest& digest) const {
  for (const auto& [field, of] : {std::pair{"sharding", &queries}, {"key_sharding", &keys}}) {
    if (std::ssize(of->ranks) != ranks) {
      refuse(field, "deal to the " + std::to_string(ranks) + " ranks of the communicator",
             "to " + std::to_string(of->ranks.size()));
    }
  }
  if (queries.documents != keys.documents || queries.axes != keys.axes) {
    refuse("key_sharding", "have the documents and axes of sharding", "of others");
  }
  if (layer.mask.kind == MaskKind::sparse) refuse("layer.mask", "be a function of orders", "sparse");
  if (std::ranges::count_if(layer.score, sums_along_keys) > 1) {
    refuse("layer", "have at most one scheme that sums along the keys", "of several");
  }
  if (!inputs.attn_mask.empty() || !inputs.bias.empty() || !inputs.row_gate.empty()) {
    refuse("inputs", "have no attn_mask, bias or row_gate, which a ring does not cut", "given");
  }
  if (!inputs.q_order.empty() || !inputs.k_order.empty() || inputs.q_positions || inputs.k_positions ||
      !inputs.cu_seqlens_q.empty() || !inputs.cu_seqlens_k.empty()) {
    refuse("inputs", "leave orders, positions and cu_seqlens to the shardings", "given");
  }
  check_rows("q", q, 3, q_rows());
  check_rows("k", k, 3, k_rows());
  check_rows("v", v, 3, k_rows());
  if (!inputs.log_forget.empty()) {
    check_rows("log_forget", inputs.log_forget, 2, k_rows());
    if (inputs.log_forget.dtype != DType::f32)
      refuse("log_forget", "be f32", std::string(name(inputs.log_forget.dtype)));
  }
  if (!inputs.k_segments.empty() && std::ssize(inputs.k_segments) != k_rows()) {
    refuse("k_segments", "be of the rank's keys", "of others");
  }
  digest.add_layer(layer);
  digest.add_sharding(queries);
  digest.add_sharding(keys);
  for (const DType dtype : {q.dtype, k.dtype, v.dtype}) digest.add_number(static_cast<std::int64_t>(dtype));
  digest.add_number(inputs.prefix);
  digest.add_number(inputs.length.value_or(-1));
  digest.add_number((inputs.q_rotated ? 1 : 0) + (inputs.k_rotated ? 2 : 0) + (inputs.log_forget.empty() ? 0 : 4) +
                    (inputs.k_segments.empty() ? 0 : 8));
}

LayerInputs RingCall::inputs_of(const Shard& of_keys) const {
  const Shard& of_queries = own_queries();
  LayerInputs out = inputs;
  out.q_order = of_queries.order;
  out.k_order = of_keys.order;
  if (queries.axes > 0) out.q_positions = std::span<const double>(of_queries.positions);
  if (queries.axes > 0) out.k_positions = std::span<const double>(of_keys.positions);
  if (queries.documents > 1) {
    out.cu_seqlens_q = of_queries.cu_seqlens;
    out.cu_seqlens_k = of_keys.cu_seqlens;
  }
  return out;
}

Probe::Probe(const RingCall& call)
    : q(call.q),
      k(call.k),
      v(call.v),
      inputs(call.inputs),
      out(index(call.layer.heads * call.layer.value_dim)),
      lse(index(call.layer.heads)),
      zeros_(index(std::max({row_bytes(q), row_bytes(k), row_bytes(v), std::int64_t{1}}))),
      gates_(index(call.layer.heads)),
      position_(index(std::max<std::int64_t>(call.queries.axes, 1))) {
  for (ConstTensorView* const x : {&q, &k, &v}) {
    x->data = zeros_.data();
    x->shape[0] = 1;
  }
  inputs.q_order = inputs.k_order = order_;
  if (call.queries.axes > 0) inputs.q_positions = inputs.k_positions = std::span<const double>(position_);
  if (!inputs.q_segments.empty()) inputs.q_segments = inputs.k_segments = segment_;
  if (!inputs.log_forget.empty()) inputs.log_forget = tensor(gates_.data(), {1, call.layer.heads});
}

}  // namespace posenc::mpi_library
