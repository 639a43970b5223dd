#include "ring_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "posenc/error.h"

namespace posenc::mpi_library {
namespace {

constexpr std::int64_t kOfBlock = 8;        // results of so large a part of a block are made at a time
constexpr std::int64_t kLeastQueries = 64;  // and of so many rows at least, a tile, if half a block has them

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

// Whether lists of a rank's rows are as shard() makes them.
bool is_whole(const Sharding& of, const Shard& one) {
  const auto rows = std::ssize(one.rows);
  if (std::ssize(one.order) != rows || std::ssize(one.documents) != rows || of.documents < 0 || of.axes < 0 ||
      std::ssize(one.positions) != of.axes * rows || std::ssize(one.cu_seqlens) != of.documents + 1 ||
      one.cu_seqlens.front() != 0 || one.cu_seqlens.back() != rows || !std::ranges::is_sorted(one.cu_seqlens)) {
    return false;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t token = one.rows[index(row)];
    const std::int64_t document = one.documents[index(row)];
    if (token < 0 || token >= of.tokens || (row > 0 && token <= one.rows[index(row - 1)])) return false;
    if (document < 0 || document >= of.documents) return false;
    if (row < one.cu_seqlens[index(document)] || row >= one.cu_seqlens[index(document + 1)]) return false;
  }
  return true;
}

// Whether each token has one rank; of ranks that are whole.
bool has_all_tokens(const Sharding& of) {
  std::int64_t rows = 0;
  for (const Shard& one : of.ranks) rows += std::ssize(one.rows);
  if (rows != of.tokens) return false;
  std::vector<bool> is_met(index(of.tokens));
  for (const Shard& one : of.ranks) {
    for (const std::int64_t row : one.rows) {
      if (is_met[index(row)]) return false;
      is_met[index(row)] = true;
    }
  }
  return true;
}

// Of floats that lie one after another.
bool is_finite(const ConstTensorView& x) {
  const std::int64_t bytes = x.shape[0] * row_bytes(x);
  const std::span numbers(static_cast<const float*>(x.data), index(bytes) / sizeof(float));
  return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
}

}  // namespace

void RowInputs::place(const Shard& of, std::int64_t first, std::int64_t count) {
  order = std::span(of.order).subspan(index(first), index(count));
  cu_seqlens.clear();
  for (const std::int32_t cut : of.cu_seqlens) {
    cu_seqlens.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(cut - first, 0, count)));
  }
  positions.clear();
  const auto rows = std::ssize(of.order);
  for (std::int64_t axis = 0; axis * rows < std::ssize(of.positions); ++axis) {
    const auto from = of.positions.begin() + axis * rows + first;
    positions.insert(positions.end(), from, from + count);
  }
}

std::int64_t row_bytes(const ConstTensorView& x) {
  std::int64_t elements = 1;
  for (int axis = 1; axis < x.rank; ++axis) elements *= x.shape[index(axis)];
  return elements * bytes_of(x.dtype);
}

std::int64_t RingCall::sums() const { return std::ranges::count_if(layer.score, sums_along_keys); }

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
      refuse(field,
             "have rows that ascend, an order, a document and positions of each, and cu_seqlens from 0 to their count",
             "otherwise of rank " + std::to_string(broken - of->ranks.begin()));
    }
    if (!has_all_tokens(*of)) refuse(field, "give each token to one rank", "otherwise");
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
    check_shape(where, "log_forget", inputs.log_forget, std::array{k_rows(), layer.heads});
    if (!is_finite(inputs.log_forget)) {
      refuse("log_forget", "be finite, for sums from the start of the sequence", "NaN or infinite");
    }
  }
  if (has_segments() && std::ssize(inputs.q_segments) != q_rows()) {
    refuse("q_segments", "be of the " + std::to_string(q_rows()) + " rows of the rank's queries",
           "of " + std::to_string(inputs.q_segments.size()));
  }
  if (has_segments() && std::ssize(inputs.k_segments) != k_rows()) {
    refuse("k_segments", "be of the " + std::to_string(k_rows()) + " rows of the rank's keys",
           "of " + std::to_string(inputs.k_segments.size()));
  }
  digest.add_layer(layer, weights);
  digest.add_sharding(queries);
  digest.add_sharding(keys);
  for (const DType dtype : {q.dtype, k.dtype, v.dtype}) digest.add_number(static_cast<std::int64_t>(dtype));
  digest.add_number(part_rows);
  digest.add_number(inputs.prefix);
  digest.add_number(inputs.length.value_or(-1));
  digest.add_number((inputs.q_rotated ? 1 : 0) + (inputs.k_rotated ? 2 : 0) + (inputs.log_forget.empty() ? 0 : 4) +
                    (has_segments() ? 8 : 0));
}

std::int64_t RingCall::largest_block() const {
  std::int64_t out = 0;
  for (const Shard& one : keys.ranks) out = std::max<std::int64_t>(out, std::ssize(one.rows));
  return out;
}

std::int64_t RingCall::rows_at_a_time() const {
  const std::int64_t block = largest_block() * (row_bytes(k) + row_bytes(v));
  const std::int64_t of_query = layer.heads * std::max(layer.head_dim, layer.value_dim) * std::int64_t{sizeof(float)};
  const std::int64_t least = std::max<std::int64_t>(std::min({kLeastQueries, part_rows, block / 2 / of_query}), 1);
  return std::min(std::max(block / kOfBlock / of_query, least), std::max<std::int64_t>(q_rows(), 1));
}

LayerInputs RingCall::inputs_of(const RowInputs& of_queries, std::int64_t first_query, const RowInputs& of_keys) const {
  LayerInputs out = inputs;
  out.q_order = of_queries.order;
  out.k_order = of_keys.order;
  if (queries.axes > 0) out.q_positions = std::span<const double>(of_queries.positions);
  if (queries.axes > 0) out.k_positions = std::span<const double>(of_keys.positions);
  if (queries.documents > 1) {
    out.cu_seqlens_q = of_queries.cu_seqlens;
    out.cu_seqlens_k = of_keys.cu_seqlens;
  }
  if (has_segments()) out.q_segments = inputs.q_segments.subspan(index(first_query), of_queries.order.size());
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
