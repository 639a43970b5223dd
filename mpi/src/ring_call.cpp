#include "ring_call.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "posenc/error.h"

namespace posenc::mpi_library {
namespace {

constexpr std::int64_t kMostParts = 4;  // of the last block

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

// Rows first .. end - 1 of what a rank has.
Shard rows_of(const Shard& whole, std::int64_t first, std::int64_t end) {
  Shard out{.rows = {whole.rows.begin() + first, whole.rows.begin() + end},
            .order = {whole.order.begin() + first, whole.order.begin() + end},
            .documents = {whole.documents.begin() + first, whole.documents.begin() + end}};
  for (const std::int32_t cut : whole.cu_seqlens) {
    out.cu_seqlens.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(cut - first, 0, end - first)));
  }
  const auto rows = std::ssize(whole.rows);
  for (std::int64_t axis = 0; axis * rows < std::ssize(whole.positions); ++axis) {
    const auto from = whole.positions.begin() + axis * rows;
    out.positions.insert(out.positions.end(), from + first, from + end);
  }
  return out;
}

// Whether lists of a rank's rows are as long as these, as shard() makes them.
bool is_whole(const Sharding& of, const Shard& one) {
  const auto rows = std::ssize(one.rows);
  return std::ssize(one.order) == rows && std::ssize(one.documents) == rows &&
         std::ssize(one.positions) == of.axes * rows && of.documents >= 0 &&
         std::ssize(one.cu_seqlens) == of.documents + 1 && one.cu_seqlens.front() == 0 &&
         one.cu_seqlens.back() == rows && std::ranges::is_sorted(one.cu_seqlens);
}

}  // namespace

Schedule::Schedule(const RingCall& call, bool is_backward) {
  if (call.in_runs()) {
    in_runs(call, is_backward);
  } else {
    in_blocks(call);
  }
}

void Schedule::in_runs(const RingCall& call, bool is_backward) {
  ShardRuns made = runs_of(call.keys);
  runs = std::move(made.runs);
  std::vector<std::int64_t> taken(call.keys.ranks.size());
  for (std::size_t n = 0; n < made.owners.size(); ++n) {
    std::int64_t& first = taken[index(made.owners[n])];
    pieces.push_back({static_cast<int>(made.owners[n]), first, &runs.ranks[n], n});
    first += pieces.back().count();
  }
  const ShardWork work = shard_work(call.queries, runs, call.layer.mask, call.inputs.prefix);
  for (std::int64_t p = 0; p < std::ssize(pieces); ++p) {
    turns.emplace_back();
    for (std::int64_t r = 0; r < call.ranks; ++r) turns.back().push_back(work.pairs_of(r, p) > 0 ? p : -1);
  }
  if (!is_backward) std::ranges::reverse(turns);
}

void Schedule::in_blocks(const RingCall& call) {
  const std::int64_t ranks = call.ranks;
  for (std::size_t r = 0; r < call.keys.ranks.size(); ++r) {
    pieces.push_back({static_cast<int>(r), 0, &call.keys.ranks[r], r});
  }
  const ShardWork work = shard_work(call.queries, call.keys, call.layer.mask, call.inputs.prefix);
  std::vector<std::vector<std::int64_t>> of_pieces(pieces.size());
  for (std::int64_t r = 0; r < ranks; ++r) {
    std::vector<std::int64_t> taken;
    for (std::int64_t s = 0; s < ranks; ++s) {
      const std::int64_t p = (r - s + ranks) % ranks;
      if (work.pairs_of(r, p) > 0) taken.push_back(p);
    }
    if (!taken.empty() && taken.back() != r) {
      std::vector<std::int64_t>& last = of_pieces[index(taken.back())];
      if (last.empty()) last = cut(taken.back(), call.part_rows);
      taken.pop_back();
      taken.insert(taken.end(), last.begin(), last.end());
    }
    if (taken.size() > turns.size()) turns.resize(taken.size(), std::vector<std::int64_t>(index(ranks), -1));
    for (std::size_t t = 0; t < taken.size(); ++t) turns[t][index(r)] = taken[t];
  }
}

std::vector<std::int64_t> Schedule::cut(std::int64_t p, std::int64_t part_rows) {
  const Piece whole = pieces[index(p)];
  const std::int64_t count = std::clamp<std::int64_t>(whole.count() / part_rows, 1, kMostParts);
  std::vector<std::int64_t> out;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t first = whole.count() * n / count;
    const std::int64_t end = whole.count() * (n + 1) / count;
    parts.push_back(rows_of(*whole.rows, first, end));
    out.push_back(std::ssize(pieces));
    pieces.push_back({whole.owner, first, &parts.back(), whole.block});
  }
  return out;
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

std::int64_t RingCall::sums() const { return std::ranges::count_if(layer.score, sums_along_keys); }

std::vector<std::int64_t> RingCall::carry_shape() const {
  std::vector<std::int64_t> out{q_rows(), layer.heads};
  if (sums() > 1) out.insert(out.begin(), sums());
  return out;
}

bool RingCall::has_segments() const {
  return std::ranges::any_of(weights.score, [](const ScoreWeights& one) {
    const auto* const of = std::get_if<XlNetWeights>(&one);
    return of != nullptr && !(of->segments.empty() && of->segment_bias.empty());
  });
}

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
    const auto broken =
        std::ranges::find_if(of->ranks, [&sharding = *of](const Shard& one) { return !is_whole(sharding, one); });
    if (broken != of->ranks.end()) {
      refuse(field, "have an order, a document and positions of each row, and cu_seqlens from 0 to their count",
             "otherwise of rank " + std::to_string(broken - of->ranks.begin()));
    }
  }
  for (const auto& [field, size] : {std::pair{"layer.heads", layer.heads},
                                    {"layer.kv_heads", layer.kv_heads},
                                    {"layer.head_dim", layer.head_dim},
                                    {"layer.value_dim", layer.value_dim}}) {
    if (size < 1) refuse(field, "be 1 or more", std::to_string(size));
  }
  if (part_rows < 1) refuse("part_rows", "be 1 or more", std::to_string(part_rows));
  if (queries.documents != keys.documents || queries.axes != keys.axes) {
    refuse("key_sharding", "have the documents and axes of sharding", "of others");
  }
  if (layer.mask.kind == MaskKind::sparse) refuse("layer.mask", "be a function of orders", "sparse");
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
  check_heads(where, "q", q, std::array{q_rows(), layer.heads, layer.head_dim});
  check_heads(where, "k", k, std::array{k_rows(), layer.kv_heads, layer.head_dim});
  check_heads(where, "v", v, std::array{k_rows(), layer.kv_heads, layer.value_dim});
  if (!inputs.log_forget.empty()) {
    check_rows("log_forget", inputs.log_forget, 2, k_rows());
    if (inputs.log_forget.dtype != DType::f32)
      refuse("log_forget", "be f32", std::string(name(inputs.log_forget.dtype)));
  }
  if (has_segments() && std::ssize(inputs.q_segments) != q_rows()) {
    refuse("q_segments", "be of the " + std::to_string(q_rows()) + " rows of the rank's queries",
           "of " + std::to_string(inputs.q_segments.size()));
  }
  if (has_segments() && std::ssize(inputs.k_segments) != k_rows()) {
    refuse("k_segments", "be of the " + std::to_string(k_rows()) + " rows of the rank's keys",
           "of " + std::to_string(inputs.k_segments.size()));
  }
  digest.add_layer(layer);
  digest.add_sharding(queries);
  digest.add_sharding(keys);
  for (const DType dtype : {q.dtype, k.dtype, v.dtype}) digest.add_number(static_cast<std::int64_t>(dtype));
  digest.add_number(part_rows);
  digest.add_number(inputs.prefix);
  digest.add_number(inputs.length.value_or(-1));
  digest.add_number((inputs.q_rotated ? 1 : 0) + (inputs.k_rotated ? 2 : 0) + (inputs.log_forget.empty() ? 0 : 4) +
                    (has_segments() ? 8 : 0));
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
  if (call.has_segments()) inputs.q_segments = inputs.k_segments = segment_;
  if (!inputs.log_forget.empty()) inputs.log_forget = tensor(gates_.data(), {1, call.layer.heads});
}

}  // namespace posenc::mpi_library
