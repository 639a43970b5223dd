// The input stage on rows of embeddings: a position's row added to each, or multiplied with it. Written once over a
// vector of floats V, compiled once per instruction set.
//
//   to[t][c] = (m from[t][c] + types[t][c]) + positions[t][c]      or times positions[t][c]
//
// In f32, each step rounded by itself: without a fused multiply-add, so that all instruction sets give the same bits.
#pragma once

#include "kernels/convert_loop.h"
#include "kernels/kernels.h"
#include "kernels/lanes.h"
#include "kernels/load_floats.h"

namespace posenc::kernels {

template <class V, Element kElement, Element kRows, bool kTypes, bool kMultiplies, class Count>
void combine_piece(const InputRows& r, std::int64_t row, std::int64_t i, typename V::Floats multiplier,
                   Count count) noexcept {
  using Floats = typename V::Floats;
  Floats x = V::mul(multiplier, load_as_floats<V, kElement>(r.from, row * r.from_row + i, count));
  if constexpr (kTypes) x = V::add(x, load_as_floats<V, kRows>(r.types[row], i, count));
  const Floats p = load_as_floats<V, kRows>(r.positions[row], i, count);
  store_floats<V, kElement>(r.to, row * r.to_row + i, kMultiplies ? V::mul(x, p) : V::add(x, p), count);
}

template <class V, Element kElement, Element kRows, bool kTypes, bool kMultiplies>
void combine_rows(const InputRows& r) noexcept {
  const typename V::Floats multiplier = V::all(r.multiplier);
  for (std::int64_t row = 0; row < r.rows; ++row) {
    std::int64_t i = 0;
    for (; i + V::kLanes <= r.count; i += V::kLanes) {
      combine_piece<V, kElement, kRows, kTypes, kMultiplies>(r, row, i, multiplier, All{});
    }
    if (i == r.count) continue;
    combine_piece<V, kElement, kRows, kTypes, kMultiplies>(r, row, i, multiplier, Some{r.count - i});
  }
}

template <class V, Element kElement, Element kRows>
void combine_kind(const InputRows& r) noexcept {
  if (r.types != nullptr) {
    return r.multiplies ? combine_rows<V, kElement, kRows, true, true>(r)
                        : combine_rows<V, kElement, kRows, true, false>(r);
  }
  return r.multiplies ? combine_rows<V, kElement, kRows, false, true>(r)
                      : combine_rows<V, kElement, kRows, false, false>(r);
}

// Rows are floats, or of the tensor's own type.
template <class V, Element kElement>
void combine_element(const InputRows& r) noexcept {
  if (r.row_element == Element::f32) return combine_kind<V, kElement, Element::f32>(r);
  if constexpr (kElement != Element::f32) combine_kind<V, kElement, kElement>(r);
}

// The entry of KernelTable::input.
template <class V>
void combine_input(const InputRows& r) noexcept {
  switch (r.element) {
    case Element::f32: return combine_element<V, Element::f32>(r);
    case Element::f16: return combine_element<V, Element::f16>(r);
    case Element::bf16: return combine_element<V, Element::bf16>(r);
  }
}

}  // namespace posenc::kernels
