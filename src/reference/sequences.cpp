// A call of attention cut into its sequences: of a batch, or packed by cu_seqlens as in FlashAttention's varlen calls.
// Each gets its rows of q, k and v, its coordinates and its orders.
#include "reference/sequences.h"

#include <numeric>
#include <type_traits>
#include <variant>

#include "math/layer_axes.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::reference {
namespace {

// Sequence b of a batch as [tokens, heads, channels]; of rank 3 the rows from `first` on.
ConstTensorView part(const ConstTensorView& x, std::int64_t b, std::int64_t first, std::int64_t rows) {
  ConstTensorView out = x;
  std::int64_t offset = 0;
  if (x.rank == 4) {
    offset = b * x.strides[0];
    out.rank = 3;
    out.shape = {x.shape[2], x.shape[1], x.shape[3]};
    out.strides = {x.strides[2], x.strides[1], x.strides[3]};
  } else {
    offset = first * x.strides[0];
    out.shape[0] = rows;
  }
  if (x.data != nullptr) out.data = static_cast<const char*>(x.data) + offset * bytes_of(x.dtype);
  return out;
}

// The coordinates of rows first .. first + rows of a side with `all` rows, [axes][rows].
std::vector<std::vector<double>> coordinates(const std::optional<Positions>& positions, std::int64_t axes,
                                             const std::vector<std::int64_t>& order, std::int64_t first,
                                             std::int64_t all) {
  std::vector<std::vector<double>> out(index(axes), std::vector<double>(order.begin(), order.end()));
  if (!positions) return out;
  const auto rows = static_cast<std::int64_t>(order.size());
  std::visit(
      [&](const auto& given) {
        for (std::int64_t axis = 0; axis < axes; ++axis) {
          for (std::int64_t row = 0; row < rows; ++row) {
            double& to = out[index(axis)][index(row)];
            if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
              to = static_cast<double>(given.start + row);
            } else {
              const bool shared = std::ssize(given) == axes * rows;  // of a batch: one list for every sequence
              to = static_cast<double>(given[index(shared ? axis * rows + row : axis * all + first + row)]);
            }
          }
        }
      },
      *positions);
  return out;
}

// As the caller gives it, or counted from `start`: 0 for keys, and for queries what makes the last query stand with the
// last key, as in decode and chunked prefill.
std::vector<std::int64_t> order_of(std::span<const std::int64_t> given, std::int64_t first, std::int64_t rows,
                                   std::int64_t start) {
  if (!given.empty()) {
    const auto part = given.subspan(index(first), index(rows));
    return {part.begin(), part.end()};
  }
  std::vector<std::int64_t> out(index(rows));
  std::iota(out.begin(), out.end(), start);
  return out;
}

struct Rows {
  std::int64_t first;
  std::int64_t count;
};

// The rows of sequence s among those of the call: tokens of rank 3, batch * tokens of rank 4.
Rows rows_of(const ConstTensorView& x, std::span<const std::int32_t> cu_seqlens, std::int64_t s) {
  if (x.rank == 4) return {s * x.shape[2], x.shape[2]};
  if (cu_seqlens.empty()) return {0, x.shape[0]};
  return {cu_seqlens[index(s)], cu_seqlens[index(s + 1)] - cu_seqlens[index(s)]};
}

}  // namespace

std::vector<Sequence> sequences_of(const LayerPlan& layer, const AttendArgs& args) {
  const LayerInputs& in = args.inputs;
  const std::int64_t axes = math::axes_of(layer);
  const std::int64_t count = args.q.rank == 4          ? args.q.shape[0]
                             : in.cu_seqlens_q.empty() ? 1
                                                       : std::ssize(in.cu_seqlens_q) - 1;
  std::vector<Sequence> out;
  for (std::int64_t s = 0; s < count; ++s) {
    const Rows q = rows_of(args.q, in.cu_seqlens_q, s);
    const Rows k = rows_of(args.k, in.cu_seqlens_k, s);
    Sequence& one = out.emplace_back();
    one.batch = args.q.rank == 4 ? s : 0;
    one.q = {.x = part(args.q, s, q.first, q.count),
             .order = order_of(in.q_order, q.first, q.count, k.count - q.count),
             .first_row = q.first};
    one.k = {.x = part(args.k, s, k.first, k.count),
             .order = order_of(in.k_order, k.first, k.count, 0),
             .first_row = k.first};
    one.v = part(args.v, s, k.first, k.count);
    one.q.coordinates = coordinates(in.q_positions, axes, one.q.order, q.first, rows_of(args.q));
    one.k.coordinates = coordinates(in.k_positions, axes, one.k.order, k.first, rows_of(args.k));
  }
  return out;
}

}  // namespace posenc::inline v0_2::reference
