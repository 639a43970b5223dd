// The rows of one call of attention: sequences of a batch or packed by cu_seqlens, the coordinates of each token, and
// its order for masks. Where the caller gives no orders, keys are counted from 0 and the last query is at the last key,
// as in a decode with a KV cache (the bottom-right causal mask of FlashAttention-2).
#include "math/call_rows.h"

#include <type_traits>
#include <variant>

#include "math/layer_axes.h"

namespace posenc::math {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<SequenceRows> sequences(const LayerInputs& inputs, const CallSizes& sizes) {
  std::vector<SequenceRows> out;
  if (inputs.cu_seqlens_q.empty()) {
    for (std::int64_t b = 0; b < sizes.batch; ++b) {
      out.push_back({b * sizes.queries, sizes.queries, b * sizes.keys, sizes.keys});
    }
    return out;
  }
  for (std::size_t s = 0; s + 1 < inputs.cu_seqlens_q.size(); ++s) {
    out.push_back({inputs.cu_seqlens_q[s], inputs.cu_seqlens_q[s + 1] - inputs.cu_seqlens_q[s], inputs.cu_seqlens_k[s],
                   inputs.cu_seqlens_k[s + 1] - inputs.cu_seqlens_k[s]});
  }
  return out;
}

// Keys are counted from 0 in each sequence, and the last query stands with the last key.
void count_rows(CallRows& rows) {
  rows.q_order.resize(index(rows.queries));
  rows.k_order.resize(index(rows.keys));
  for (const SequenceRows& s : rows.sequences) {
    for (std::int64_t t = 0; t < s.q_count; ++t) rows.q_order[index(s.q_first + t)] = s.k_count - s.q_count + t;
    for (std::int64_t t = 0; t < s.k_count; ++t) rows.k_order[index(s.k_first + t)] = t;
  }
}

// `tokens`: rows of one sequence of a batch.
std::vector<double> along(std::int64_t axis, std::int64_t axes, const std::optional<Positions>& positions,
                          const std::vector<std::int64_t>& order, std::int64_t tokens,
                          const std::vector<std::int64_t>& place_in_sequence) {
  if (!positions) return {order.begin(), order.end()};
  const std::int64_t rows = std::ssize(order);
  std::vector<double> out(index(rows));
  std::visit(
      [&](const auto& given) {
        for (std::int64_t row = 0; row < rows; ++row) {
          if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
            out[index(row)] = static_cast<double>(given.start + place_in_sequence[index(row)]);
          } else {
            const bool serves_all = std::ssize(given) == axes * tokens;
            const std::int64_t place = serves_all ? axis * tokens + row % tokens : axis * rows + row;
            out[index(row)] = static_cast<double>(given[index(place)]);
          }
        }
      },
      *positions);
  return out;
}

}  // namespace

CallRows call_rows(const LayerPlan& layer, const LayerInputs& inputs, const CallSizes& sizes) {
  CallRows out{.sequences = sequences(inputs, sizes),
               .queries = sizes.batch * sizes.queries,
               .keys = sizes.batch * sizes.keys,
               .q_order = {},
               .k_order = {},
               .axes = {}};
  count_rows(out);
  std::vector<std::int64_t> q_place(index(out.queries));
  std::vector<std::int64_t> k_place(index(out.keys));
  for (const SequenceRows& s : out.sequences) {
    for (std::int64_t t = 0; t < s.q_count; ++t) q_place[index(s.q_first + t)] = t;
    for (std::int64_t t = 0; t < s.k_count; ++t) k_place[index(s.k_first + t)] = t;
  }
  if (!inputs.q_order.empty()) out.q_order.assign(inputs.q_order.begin(), inputs.q_order.end());
  if (!inputs.k_order.empty()) out.k_order.assign(inputs.k_order.begin(), inputs.k_order.end());
  const std::int64_t axes = axes_of(layer);
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    out.axes.push_back({.q = along(axis, axes, inputs.q_positions, out.q_order, sizes.queries, q_place),
                        .k = along(axis, axes, inputs.k_positions, out.k_order, sizes.keys, k_place)});
  }
  return out;
}

}  // namespace posenc::math
