// Products of a tile with few queries, written once over a vector of floats V with channels in it: a row of keys or
// values is read once for all of them. What other rows are multiplied at the same time changes no sum.
#pragma once

#include "kernels/attention.h"
#include "kernels/lanes.h"
#include "kernels/load_floats.h"

namespace posenc::kernels {

// Rows of another head's tokens lie between those of one head, further apart than processors look ahead: they are
// asked for so many rows before their use.
constexpr std::int64_t kRowsAhead = 16;
constexpr std::int64_t kLineBytes = 64;

// Inlined, as V::fetch is: GCC 12 takes a function that only fetches for one without effects, and its calls out.
template <class V, Element kElement>
[[gnu::always_inline]] inline void fetch(const FewLanes& x, std::int64_t r) noexcept {
  if (x.ahead != nullptr) {
    const char* const from = static_cast<const char*>(x.ahead) + r * x.ahead_bytes;
    for (std::int64_t n = 0; n < x.ahead_bytes; n += kLineBytes) V::fetch_for_later(from + n);
    return;
  }
  constexpr std::int64_t kBytes = kElement == Element::f32 ? 4 : 2;
  const char* const from = static_cast<const char*>(x.a) + (r + kRowsAhead) * x.a_row * kBytes;
  for (std::int64_t n = 0; n < x.depth * kBytes; n += kLineBytes) V::fetch(from + n);
}

template <class V, Element kElement, int kRows>
void dots_of_rows(const FewLanes& x, std::int64_t r, std::int64_t l) noexcept {
  using Floats = typename V::Floats;
  Floats sums[kRows][kFewLanes];
  for (auto& row : sums) {
    for (Floats& sum : row) sum = V::all(0.0F);
  }
  const float* const b = x.b + l * x.depth;
  const auto step = [&](std::int64_t k, auto count) noexcept {
    Floats of_b[kFewLanes];
#pragma GCC unroll 4
    for (int lane = 0; lane < kFewLanes; ++lane) of_b[lane] = V::load(b + lane * x.depth + k, count);
#pragma GCC unroll 4
    for (int row = 0; row < kRows; ++row) {
      const Floats of_a = load_as_floats<V, kElement>(x.a, (r + row) * x.a_row + k, count);
#pragma GCC unroll 4
      for (int lane = 0; lane < kFewLanes; ++lane) sums[row][lane] = V::fma(of_a, of_b[lane], sums[row][lane]);
    }
  };
  std::int64_t k = 0;
  for (; k + V::kLanes <= x.depth; k += V::kLanes) step(k, All{});
  if (k < x.depth) step(k, Some{x.depth - k});
#pragma GCC unroll 4
  for (int row = 0; row < kRows; ++row) {
    V::store_sums(x.c + (r + row) * x.lanes + l, sums[row][0], sums[row][1], sums[row][2], sums[row][3]);
  }
}

template <class V, Element kElement>
void dots_of(const FewLanes& x) noexcept {
  std::int64_t r = 0;
  for (; r + V::kDotRows <= x.rows; r += V::kDotRows) {
    for (int row = 0; row < V::kDotRows; ++row) fetch<V, kElement>(x, r + row);
    for (std::int64_t l = 0; l < x.used; l += kFewLanes) dots_of_rows<V, kElement, V::kDotRows>(x, r, l);
  }
  for (; r < x.rows; ++r) {
    for (std::int64_t l = 0; l < x.used; l += kFewLanes) dots_of_rows<V, kElement, 1>(x, r, l);
  }
}

// kRegisters registers of channels from k on, or fewer channels than one holds.
template <class V, Element kElement, int kRegisters, class Count>
void weighted_channels(const FewLanes& x, std::int64_t l, std::int64_t k, bool fetches, Count count) noexcept {
  using Floats = typename V::Floats;
  Floats sums[kFewLanes][kRegisters];
#pragma GCC unroll 4
  for (int lane = 0; lane < kFewLanes; ++lane) {
#pragma GCC unroll 4
    for (int j = 0; j < kRegisters; ++j) {
      sums[lane][j] =
          V::mul(V::load(x.out + (l + lane) * x.depth + k + j * V::kLanes, count), V::all(x.scale[l + lane]));
    }
  }
  for (std::int64_t r = 0; r < x.rows; ++r) {
    if (fetches) fetch<V, kElement>(x, r);
    Floats of_a[kRegisters];
#pragma GCC unroll 4
    for (int j = 0; j < kRegisters; ++j) {
      of_a[j] = load_as_floats<V, kElement>(x.a, r * x.a_row + k + j * V::kLanes, count);
    }
#pragma GCC unroll 4
    for (int lane = 0; lane < kFewLanes; ++lane) {
      const Floats p = V::all(x.p[r * x.lanes + l + lane]);
#pragma GCC unroll 4
      for (int j = 0; j < kRegisters; ++j) sums[lane][j] = V::fma(of_a[j], p, sums[lane][j]);
    }
  }
#pragma GCC unroll 4
  for (int lane = 0; lane < kFewLanes; ++lane) {
#pragma GCC unroll 4
    for (int j = 0; j < kRegisters; ++j) {
      V::store(x.out + (l + lane) * x.depth + k + j * V::kLanes, sums[lane][j], count);
    }
  }
}

template <class V, Element kElement>
void weighted_of(const FewLanes& x) noexcept {
  constexpr std::int64_t kWide = V::kDotRows * V::kLanes;
  for (std::int64_t l = 0; l < x.used; l += kFewLanes) {
    std::int64_t k = 0;
    for (; k + kWide <= x.depth; k += kWide) {
      weighted_channels<V, kElement, V::kDotRows>(x, l, k, l == 0 && k == 0, All{});
    }
    for (; k + V::kLanes <= x.depth; k += V::kLanes) weighted_channels<V, kElement, 1>(x, l, k, false, All{});
    if (k < x.depth) weighted_channels<V, kElement, 1>(x, l, k, false, Some{x.depth - k});
  }
}

template <class V>
void dots(const FewLanes& x) noexcept {
  switch (x.element) {
    case Element::f32: return dots_of<V, Element::f32>(x);
    case Element::f16: return dots_of<V, Element::f16>(x);
    case Element::bf16: return dots_of<V, Element::bf16>(x);
  }
}

template <class V>
void weighted(const FewLanes& x) noexcept {
  switch (x.element) {
    case Element::f32: return weighted_of<V, Element::f32>(x);
    case Element::f16: return weighted_of<V, Element::f16>(x);
    case Element::bf16: return weighted_of<V, Element::bf16>(x);
  }
}

}  // namespace posenc::kernels
