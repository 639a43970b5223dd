#include "attend/fused/picked_rows.h"

#include <numeric>
#include <type_traits>
#include <variant>

#include "math/layer_axes.h"
#include "posenc/reference.h"

namespace posenc::test {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Tokens of sequence s of a call's tensor: rows [rows, heads, channels].
Tensor rows_of(const ConstTensorView& x, std::int64_t s, std::int64_t first, const TokenList& list) {
  const bool is_batch = x.rank == 4;
  const std::int64_t heads = x.shape[1];
  const std::int64_t channels = x.shape[index(x.rank - 1)];
  Tensor out{{}, {std::ssize(list), heads, channels}};
  for (const std::int64_t t : list) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t c = 0; c < channels; ++c) {
        out.values.push_back(is_batch ? reference::element(x, {s, h, t, c}) : reference::element(x, {first + t, h, c}));
      }
    }
  }
  return out;
}

// Rows of [all rows, heads], if any are given.
Tensor rows_of(const ConstTensorView& x, std::int64_t first, const TokenList& list) {
  if (x.empty()) return {};
  Tensor out{{}, {std::ssize(list), x.shape[1]}};
  for (const std::int64_t t : list) {
    for (std::int64_t h = 0; h < x.shape[1]; ++h) out.values.push_back(reference::element(x, {first + t, h}));
  }
  return out;
}

std::vector<std::int32_t> rows_of(std::span<const std::int32_t> all, std::int64_t first, const TokenList& list) {
  if (all.empty()) return {};
  std::vector<std::int32_t> out;
  for (const std::int64_t t : list) out.push_back(all[index(first + t)]);
  return out;
}

}  // namespace

std::vector<SequenceRows> sequences_of(const SchemeCall& call) {
  const LayerInputs& in = call.inputs;
  std::vector<SequenceRows> out;
  if (in.cu_seqlens_q.empty()) {
    for (std::int64_t b = 0; b < call.sizes.batch; ++b) {
      out.push_back({b * call.sizes.queries, call.sizes.queries, b * call.sizes.keys, call.sizes.keys});
    }
    return out;
  }
  for (std::size_t s = 1; s < in.cu_seqlens_q.size(); ++s) {
    out.push_back({in.cu_seqlens_q[s - 1], in.cu_seqlens_q[s] - in.cu_seqlens_q[s - 1], in.cu_seqlens_k[s - 1],
                   in.cu_seqlens_k[s] - in.cu_seqlens_k[s - 1]});
  }
  return out;
}

TokenList tokens(std::int64_t first, std::int64_t last) {
  TokenList out(index(last - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// What attention.h says of positions and orders that are left out, given as a range or given once for all sequences.
PickedRows::Side PickedRows::picked_side(bool of_queries, const SequenceRows& rows, const TokenList& list) const {
  const LayerInputs& in = call_.inputs;
  const auto& positions = of_queries ? in.q_positions : in.k_positions;
  const auto orders = of_queries ? in.q_order : in.k_order;
  const std::int64_t first = of_queries ? rows.first_query : rows.first_key;
  const std::int64_t count = of_queries ? rows.queries : rows.keys;
  const std::int64_t axes = math::axes_of(call_.layer);
  Side out;
  for (const std::int64_t t : list) {
    const std::int64_t counted = of_queries ? t + rows.keys - rows.queries : t;
    out.order.push_back(orders.empty() ? counted : orders[index(first + t)]);
  }
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (std::size_t n = 0; n < list.size(); ++n) {
      if (!positions) {
        out.positions.push_back(static_cast<double>(out.order[n]));
        continue;
      }
      out.positions.push_back(std::visit(
          [&](const auto& given) {
            if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
              return static_cast<double>(given.start + list[n]);
            } else {
              const std::int64_t all = std::ssize(given) / axes;
              return static_cast<double>(given[index(axis * all + (all == count ? 0 : first) + list[n])]);
            }
          },
          *positions));
    }
  }
  return out;
}

PickedRows::PickedRows(const SchemeCall& call, std::int64_t s, const TokenList& queries, const TokenList& keys)
    : call_(call) {
  const LayerInputs& in = call.inputs;
  const SequenceRows rows = sequences_of(call)[index(s)];
  q_ = rows_of(call.q, s, rows.first_query, queries);
  k_ = rows_of(call.k, s, rows.first_key, keys);
  v_ = rows_of(call.v, s, rows.first_key, keys);
  of_q_ = picked_side(true, rows, queries);
  of_k_ = picked_side(false, rows, keys);
  q_segments_ = rows_of(in.q_segments, rows.first_query, queries);
  k_segments_ = rows_of(in.k_segments, rows.first_key, keys);
  log_forget_ = rows_of(in.log_forget, rows.first_key, keys);
  row_gate_ = rows_of(in.row_gate, rows.first_query, queries);
  inputs_ = {.q_positions = std::span<const double>(of_q_.positions),
             .k_positions = std::span<const double>(of_k_.positions),
             .q_order = of_q_.order,
             .k_order = of_k_.order,
             .prefix = in.prefix,
             .q_segments = q_segments_,
             .k_segments = k_segments_,
             .log_forget = log_forget_,
             .row_gate = row_gate_,
             .length = in.length};
  if (in.attn_mask.empty()) return;
  visible_ = {{}, {call.layer.heads, std::ssize(queries), std::ssize(keys)}};
  for (std::int64_t h = 0; h < call.layer.heads; ++h) {
    for (const std::int64_t i : queries) {
      for (const std::int64_t j : keys) visible_.values.push_back(reference::element(in.attn_mask, {s, h, i, j}));
    }
  }
  inputs_.attn_mask = visible_;
}

SchemeCall::Result PickedRows::by_formulas() const {
  const LayerPlan& layer = call_.layer;
  Tensor out = zeros({q_.shape[0], layer.heads, layer.value_dim});
  Tensor lse = zeros({q_.shape[0], layer.heads});
  (void)reference::attend(layer, {.out = out.writable(),
                                  .q = q_,
                                  .k = k_,
                                  .v = v_,
                                  .weights = call_.weights,
                                  .inputs = inputs_,
                                  .lse = lse.writable()});
  return {std::move(out.values), std::move(lse.values)};
}

SchemeCall::Result picked(const SchemeCall& call, const SchemeCall::Result& whole, std::int64_t s,
                          const TokenList& queries) {
  const std::int64_t heads = call.layer.heads;
  const std::int64_t first = sequences_of(call)[index(s)].first_query;
  SchemeCall::Result out;
  for (const std::int64_t t : queries) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t row =
          call.q.shape.size() == 4 ? (s * heads + h) * call.sizes.queries + t : (first + t) * heads + h;
      const auto channels = whole.out.begin() + row * call.layer.value_dim;
      out.out.insert(out.out.end(), channels, channels + call.layer.value_dim);
      out.lse.push_back(whole.lse[index(row)]);
    }
  }
  return out;
}

}  // namespace posenc::test
