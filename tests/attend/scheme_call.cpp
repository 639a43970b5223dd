#include "attend/scheme_call.h"

#include <algorithm>

#include "cpu/lower/lower.h"
#include "math/input/inputs_read.h"
#include "math/layer_axes.h"
#include "reference/attend_lowered.h"

namespace posenc::test {
namespace {

Mask mask(MaskKind kind) { return {.kind = kind}; }

Tensor heads_of(Random& random, const Arrangement& arrangement, std::int64_t tokens, std::int64_t heads,
                std::int64_t channels) {
  if (arrangement.batch == 0) return random_tensor(random, {tokens, heads, channels});
  return random_tensor(random, {arrangement.batch, heads, tokens, channels});
}

template <typename Next>
auto list_of(std::int64_t count, const Next& next) {
  std::vector<decltype(next())> out;
  for (std::int64_t n = 0; n < count; ++n) out.push_back(next());
  return out;
}

}  // namespace

// 13 queries of two heads a KV head are too many to stream the cache for, in every instruction set (attend's
// is_decode).
std::vector<Arrangement> arrangements() {
  std::vector<Arrangement> out{
      {.name = "causal", .mask = mask(MaskKind::causal), .queries = 13, .keys = 13},
      {.name = "causal window", .mask = {.window = Window{.past = 3}}, .batch = 2},
      {.name = "window", .mask = {.kind = MaskKind::bidirectional, .window = Window{.past = 3, .future = 2}}},
      {.name = "chunks", .mask = {.chunk = 4}, .batch = 2},
      {.name = "bidirectional", .mask = mask(MaskKind::bidirectional), .batch = 2, .queries = 13, .keys = 13},
      {.name = "prefix", .mask = mask(MaskKind::prefix), .batch = 2, .prefix = 5},
      {.name = "packed",
       .mask = mask(MaskKind::causal),
       .queries = 10,
       .keys = 12,
       .cu_seqlens_q = {0, 4, 4, 10},
       .cu_seqlens_k = {0, 5, 6, 12}},
      {.name = "arbitrary", .mask = mask(MaskKind::sparse), .batch = 2, .queries = 13, .keys = 13, .arbitrary = true},
      {.name = "after cached keys", .mask = mask(MaskKind::causal), .batch = 2, .queries = 4, .keys = 13},
      {.name = "one query", .mask = mask(MaskKind::causal), .queries = 1, .keys = 12},
      {.name = "given orders", .mask = mask(MaskKind::causal), .queries = 13, .keys = 13, .orders_are_given = true},
      {.name = "given orders, all seen", .mask = mask(MaskKind::bidirectional), .batch = 2, .orders_are_given = true},
  };
  return out;
}

bool fits(const SchemeCase& scheme, const Arrangement& arrangement, Places places) {
  if (scheme.batches_only && arrangement.batch == 0) return false;
  if (places == Places::real) return scheme.real;
  const bool is_row = places == Places::by_order || places == Places::run;
  if (is_row && scheme.side != 0 && std::max(arrangement.queries, arrangement.keys) + 2 > scheme.side) return false;
  return places != Places::far || scheme.side == 0;
}

SchemeCall::SchemeCall(const SchemeCase& scheme, const Arrangement& arrangement, Places places, std::uint64_t seed)
    : layer(scheme.layer), random_(seed), tables_(random_), axes_(math::axes_of(scheme.layer)) {
  layer.mask = arrangement.mask;
  if (scheme.weights) weights = scheme.weights(tables_);
  sizes = {
      .batch = std::max<std::int64_t>(arrangement.batch, 1), .queries = arrangement.queries, .keys = arrangement.keys};
  q = heads_of(random_, arrangement, sizes.queries, layer.heads, layer.head_dim);
  k = heads_of(random_, arrangement, sizes.keys, layer.kv_heads, layer.head_dim);
  v = heads_of(random_, arrangement, sizes.keys, layer.kv_heads, layer.value_dim);
  const std::int64_t query_rows = sizes.batch * sizes.queries;
  const std::int64_t key_rows = sizes.batch * sizes.keys;
  cu_seqlens_q_ = arrangement.cu_seqlens_q;
  cu_seqlens_k_ = arrangement.cu_seqlens_k;
  if (arrangement.orders_are_given) {
    const auto order = [&] { return random_.whole(0, 12); };
    q_order_ = list_of(query_rows, order);
    k_order_ = list_of(key_rows, order);
  }
  inputs = {.q_order = q_order_,
            .k_order = k_order_,
            .cu_seqlens_q = cu_seqlens_q_,
            .cu_seqlens_k = cu_seqlens_k_,
            .prefix = arrangement.prefix,
            .length = 40};
  give_inputs();
  if (arrangement.arbitrary) {
    inputs.attn_mask = tables_.between(-1.0, 1.0, {arrangement.batch, layer.heads, sizes.queries, sizes.keys});
    const auto* seen = static_cast<const double*>(inputs.attn_mask.data);
    for (std::int64_t n = 0; n < arrangement.batch * layer.heads * sizes.queries * sizes.keys; ++n) {
      if (seen[n] < 0) const_cast<double*>(seen)[n] = 0.0;
    }
  }
  place(scheme, places);
}

// What terms ask for besides tables. All is drawn, so that other numbers do not depend on the scheme.
void SchemeCall::give_inputs() {
  const std::int64_t query_rows = sizes.batch * sizes.queries;
  const std::int64_t key_rows = sizes.batch * sizes.keys;
  const auto segment = [&] { return static_cast<std::int32_t>(random_.whole(0, 1)); };
  q_segments_ = list_of(query_rows, segment);
  k_segments_ = list_of(key_rows, segment);
  const ConstTensorView log_forget = tables_.between(-2.0, 0.0, {key_rows, layer.heads});
  const ConstTensorView row_gate = tables_({query_rows, layer.heads});
  if (math::reads_row_gate(layer)) inputs.row_gate = row_gate;
  if (math::reads_log_forget(layer)) inputs.log_forget = log_forget;
  if (!math::reads_segments(weights.score)) return;
  inputs.q_segments = q_segments_;
  inputs.k_segments = k_segments_;
}

void SchemeCall::place(const SchemeCase& scheme, Places places) {
  const std::int64_t low = scheme.side > 0 || scheme.from_zero ? 0 : -30;
  const std::int64_t high = scheme.side > 0 ? scheme.side - 1 : 60;
  const std::int64_t query_rows = sizes.batch * sizes.queries;
  const std::int64_t key_rows = sizes.batch * sizes.keys;
  const std::int64_t base = places == Places::far ? std::int64_t{1} << 31 : 0;
  switch (places) {
    case Places::by_order: return;
    case Places::run:
      inputs.q_positions = PositionRange{.start = low + 2 + sizes.keys - sizes.queries};
      inputs.k_positions = PositionRange{.start = low + 2};
      return;
    case Places::scattered:
    case Places::far: {
      const auto next = [&] { return base + random_.whole(low, high); };
      q_positions_ = list_of(axes_ * query_rows, next);
      k_positions_ = list_of(axes_ * key_rows, next);
      inputs.q_positions = std::span<const std::int64_t>(q_positions_);
      inputs.k_positions = std::span<const std::int64_t>(k_positions_);
      return;
    }
    case Places::real: {  // one list for all sequences
      const auto next = [&] { return static_cast<double>(low) + 20.0 * random_.uniform(); };
      q_coordinates_ = list_of(axes_ * sizes.queries, next);
      k_coordinates_ = list_of(axes_ * sizes.keys, next);
      inputs.q_positions = std::span<const double>(q_coordinates_);
      inputs.k_positions = std::span<const double>(k_coordinates_);
      return;
    }
  }
}

std::size_t SchemeCall::group_of(std::size_t q_row) const {
  const auto row = static_cast<std::int64_t>(q_row);
  const bool is_batch = q.shape.size() == 4;
  const std::int64_t b = is_batch ? row / (layer.heads * sizes.queries) : 0;
  const std::int64_t h = is_batch ? row / sizes.queries % layer.heads : row % layer.heads;
  return static_cast<std::size_t>(b * layer.kv_heads + h / (layer.heads / layer.kv_heads));
}

std::vector<double> SchemeCall::seen_by(std::size_t q_row, const Tensor& x) const {
  const auto group = static_cast<std::int64_t>(group_of(q_row));
  const std::int64_t b = group / layer.kv_heads;
  const std::int64_t head = group % layer.kv_heads;
  const bool is_batch = x.shape.size() == 4;
  const std::int64_t channels = x.shape.back();
  std::vector<double> out;
  for (std::int64_t t = 0; t < sizes.keys; ++t) {
    const std::int64_t at = is_batch ? (b * layer.kv_heads + head) * sizes.keys + t : t * layer.kv_heads + head;
    const auto first = x.values.begin() + at * channels;
    out.insert(out.end(), first, first + channels);
  }
  return out;
}

template <typename Attend>
SchemeCall::Result SchemeCall::attended(const Attend& attend) {
  Tensor out{{}, q.shape};
  out.shape.back() = layer.value_dim;
  out.values.resize(q.values.size() / static_cast<std::size_t>(layer.head_dim) *
                    static_cast<std::size_t>(layer.value_dim));
  Tensor lse{std::vector<double>(q.values.size() / static_cast<std::size_t>(layer.head_dim)), q.shape};
  lse.shape.pop_back();
  (void)attend(reference::AttendArgs{
      .out = out.writable(), .q = q, .k = k, .v = v, .weights = weights, .inputs = inputs, .lse = lse.writable()});
  return {std::move(out.values), std::move(lse.values)};
}

SchemeCall::Result SchemeCall::by_formulas() {
  return attended([&](const reference::AttendArgs& args) { (void)reference::attend(layer, args); });
}

SchemeCall::Result SchemeCall::by_primitives() {
  const math::Lowered lowered = cpu::lower(layer, weights, inputs, sizes);
  return attended([&](const reference::AttendArgs& args) { reference::attend_lowered(lowered, layer, args); });
}

}  // namespace posenc::test
