// Rows of elements of one dtype written as another: what a KV cache of f16 or bf16 needs of keys in f32. Written once
// over a vector of floats V, compiled once per instruction set.
//
// From a narrow type to f32 nothing is lost; to a narrow type, and from one to the other, each element is rounded once.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes.h"
#include "kernels/load_floats.h"

namespace posenc::kernels {

template <class V, Element kElement, class Count>
void store_floats(void* p, std::int64_t i, typename V::Floats a, Count count) noexcept {
  if constexpr (kElement == Element::f32) {
    V::store(static_cast<float*>(p) + i, a, count);
  } else if constexpr (kElement == Element::f16) {
    V::store_f16(static_cast<std::uint16_t*>(p) + i, a, count);
  } else {
    V::store_bf16(static_cast<std::uint16_t*>(p) + i, a, count);
  }
}

template <class V, Element kFrom, Element kTo>
void convert_rows(const ConvertRows& r) noexcept {
  if constexpr (kFrom != kTo) {
    for (std::int64_t row = 0; row < r.rows; ++row) {
      const std::int64_t from = row * r.from_row;
      const std::int64_t to = row * r.to_row;
      std::int64_t i = 0;
      for (; i + V::kLanes <= r.count; i += V::kLanes) {
        store_floats<V, kTo>(r.to, to + i, load_as_floats<V, kFrom>(r.from, from + i, All{}), All{});
      }
      if (i == r.count) continue;
      const Some rest{r.count - i};
      store_floats<V, kTo>(r.to, to + i, load_as_floats<V, kFrom>(r.from, from + i, rest), rest);
    }
  }
}

template <class V, Element kFrom>
void convert_from(const ConvertRows& r) noexcept {
  switch (r.to_element) {
    case Element::f32: return convert_rows<V, kFrom, Element::f32>(r);
    case Element::f16: return convert_rows<V, kFrom, Element::f16>(r);
    case Element::bf16: return convert_rows<V, kFrom, Element::bf16>(r);
  }
}

template <class V>
void convert(const ConvertRows& r) noexcept {
  switch (r.from_element) {
    case Element::f32: return convert_from<V, Element::f32>(r);
    case Element::f16: return convert_from<V, Element::f16>(r);
    case Element::bf16: return convert_from<V, Element::bf16>(r);
  }
}

}  // namespace posenc::kernels
