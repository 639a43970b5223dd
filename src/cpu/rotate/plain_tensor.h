// Tensors of a call on the fast path: heads in an order of memory that shows without sorting axes that no two elements
// overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "cpu/call/heads_view.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

// Sizes and strides below this: no product of two of them, in bytes, nor the sum of two such, passes 2^63.
inline constexpr std::int64_t kLarge = std::int64_t{1} << 30U;

inline bool is_below_large(std::int64_t least, std::int64_t x) { return x >= least && x < kLarge; }

// No tensor, and a view without anything in it.
inline bool is_absent(const ConstTensorView& x) { return x.data == nullptr && x.shape[0] == 0 && x.shape[1] == 0; }

// [rows, heads, channels]: channels of a head, heads of a row and rows in this order, and what the kernel can read.
inline bool is_plain_tensor(const ConstTensorView& x, std::int64_t rows, std::int64_t channels) {
  const auto [row, head, channel, none] = x.strides;
  const std::int64_t heads = x.shape[1];
  const bool is_known = x.rank == 3 && x.dtype < DType::f64 && x.shape[0] == rows && x.shape[2] == channels;
  const bool is_apart = is_below_large(1, heads) && is_below_large(channels, head) && channel == 1 &&
                        (rows == 1 || is_below_large(heads * head, row));
  return is_known && is_apart && x.data != nullptr && is_aligned(x);
}

// Addresses, from one to the next after the last.
struct Addresses {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// Stricter than are_disjoint(): views of one fused QKV tensor interleave, and are left to the general check.
inline bool are_apart(const Addresses& a, const Addresses& b) { return a.end <= b.begin || b.end <= a.begin; }

// Of a plain tensor, from its first element to its last.
inline Addresses addresses_of(const ConstTensorView& x) {
  const std::int64_t rows = x.shape[0];
  const std::int64_t last = (rows == 1 ? 0 : (rows - 1) * x.strides[0]) + (x.shape[1] - 1) * x.strides[1];
  const auto begin = reinterpret_cast<std::uintptr_t>(x.data);
  return {begin, begin + static_cast<std::uintptr_t>((last + x.shape[2]) * bytes_of(x.dtype))};
}

// Of an absent tensor too. Without a branch: GCC would fill an empty view by `rep stos`, at 10 ns.
inline HeadsView plain_heads(const ConstTensorView& x) {
  const HeadsView::Strides strides{0, x.shape[0] > 1 ? x.strides[0] : 0, x.shape[1] > 1 ? x.strides[1] : 0};
  return {.from = x.data,
          .to = const_cast<void*>(x.data),
          .element = element_of(x.dtype),
          .element_bytes = bytes_of(x.dtype),
          .heads = x.shape[1],
          .from_strides = strides,
          .to_strides = strides};
}

// Whether a held table of one axis has rows for `rows` positions. One below its start is a huge number without a sign.
inline bool serves(const RotaryTable& table, const Positions& positions, std::int64_t rows) {
  const auto start = static_cast<std::uint64_t>(table.start());
  const auto count = static_cast<std::uint64_t>(table.count());
  const auto all_of = [&](const auto& list) {
    return static_cast<std::int64_t>(list.size()) == rows && std::all_of(list.begin(), list.end(), [&](auto x) {
             return static_cast<std::uint64_t>(std::int64_t{x}) - start < count;
           });
  };
  if (const auto* const list = std::get_if<std::span<const std::int64_t>>(&positions)) return all_of(*list);
  if (const auto* const list = std::get_if<std::span<const std::int32_t>>(&positions)) return all_of(*list);
  const auto* const range = std::get_if<PositionRange>(&positions);
  return range != nullptr && rows <= table.count() &&
         static_cast<std::uint64_t>(range->start) - start <= count - static_cast<std::uint64_t>(rows);
}

// Whether positions are numbers of its rows.
inline bool is_plain_table(const RotaryTable* table) {
  return table != nullptr && !table->on_demand() && table->layout().axes.names.size() == 1;
}

}  // namespace posenc::cpu
