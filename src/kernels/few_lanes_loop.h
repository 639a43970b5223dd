// Products of a tile with few queries a key head, written once over a vector of floats V with channels in it: a row of
// keys or values is read once for all of them. What else is multiplied at the same time changes no sum.
//
// Some rows of all heads are read before the next ones, so that memory is read nearly in its order where the heads of a
// token lie together.
#pragma once

#include "kernels/attention.h"
#include "kernels/lanes.h"
#include "kernels/load_floats.h"

namespace posenc::kernels {

constexpr std::int64_t kLineBytes = 64;

template <Element kElement>
constexpr std::int64_t kBytesOf = kElement == Element::f32 ? 4 : 2;

// What is fetched beside row r of head h. Where nothing is to be, the row itself, which takes an instruction and no
// time.
template <class V, Element kElement>
const char* fetched(const FewLanes& x, std::int64_t r, std::int64_t h) noexcept {
  if (x.ahead == nullptr) return static_cast<const char*>(x.a) + (r * x.a_row + h * x.a_head) * kBytesOf<kElement>;
  return static_cast<const char*>(x.ahead) + r / kFewRows * x.ahead_next + r % kFewRows * x.ahead_row +
         h * x.ahead_head;
}

// kRows rows from element `row` of a on, with kFewLanes lanes from b on. Beside each line of them another is fetched:
// in groups of 64 they would fill the processor's queue of misses, and loads would wait for it.
template <class V, Element kElement, int kRows>
void dots_of_rows(const FewLanes& x, std::int64_t row, const char* ahead, const float* b, float* c) noexcept {
  using Floats = typename V::Floats;
  Floats sums[kRows][kFewLanes];
  for (auto& of_row : sums) {
    for (Floats& sum : of_row) sum = V::all(0.0F);
  }
  const auto step = [&](std::int64_t k, auto count) noexcept {
    Floats of_b[kFewLanes];
#pragma GCC unroll 4
    for (int lane = 0; lane < kFewLanes; ++lane) of_b[lane] = V::load(b + lane * x.depth + k, count);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Floats of_a = load_as_floats<V, kElement>(x.a, row + r * x.a_row + k, count);
#pragma GCC unroll 4
      for (int lane = 0; lane < kFewLanes; ++lane) sums[r][lane] = V::fma(of_a, of_b[lane], sums[r][lane]);
    }
  };
  constexpr std::int64_t kLine = kLineBytes / kBytesOf<kElement>;
  std::int64_t k = 0;
  for (; k + kLine <= x.depth; k += kLine) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) V::fetch_for_later(ahead + r * x.ahead_row + k * kBytesOf<kElement>);
#pragma GCC unroll 8
    for (std::int64_t j = 0; j < kLine; j += V::kLanes) step(k + j, All{});
  }
  for (; k + V::kLanes <= x.depth; k += V::kLanes) step(k, All{});
  if (k < x.depth) step(k, Some{x.depth - k});
  V::store_sums(c, x.lanes, sums);
}

template <class V, Element kElement>
void dots_of(const FewLanes& x) noexcept {
  for (std::int64_t first = 0; first < x.rows; first += kFewRows) {
    const std::int64_t end = first + kFewRows < x.rows ? first + kFewRows : x.rows;
    for (std::int64_t h = 0; h < x.heads; ++h) {
      for (std::int64_t l = h * x.each; l < (h + 1) * x.each; l += kFewLanes) {
        const auto rows = [&]<int kRows>(std::int64_t r) noexcept {
          dots_of_rows<V, kElement, kRows>(x, r * x.a_row + h * x.a_head, fetched<V, kElement>(x, r, h),
                                           x.b + l * x.depth, x.c + r * x.lanes + l);
        };
        std::int64_t r = first;
        for (; r + V::kDotRows <= end; r += V::kDotRows) rows.template operator()<V::kDotRows>(r);
        for (; r < end; ++r) rows.template operator()<1>(r);
      }
    }
  }
}

// kRegisters registers of channels, or fewer channels than one holds: those from element `row` of a on, with kFewLanes
// lanes from p and out on.
template <class V, Element kElement, int kRegisters, class Count>
void weighted_channels(const FewLanes& x, std::int64_t row, std::int64_t rows, const char* ahead, const float* p,
                       float* out, Count count) noexcept {
  constexpr std::int64_t kBytes = kRegisters * V::kLanes * kBytesOf<kElement>;
  using Floats = typename V::Floats;
  Floats sums[kFewLanes][kRegisters];
#pragma GCC unroll 4
  for (int lane = 0; lane < kFewLanes; ++lane) {
#pragma GCC unroll 4
    for (int j = 0; j < kRegisters; ++j) sums[lane][j] = V::load(out + lane * x.depth + j * V::kLanes, count);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (std::int64_t n = 0; n < kBytes; n += kLineBytes) V::fetch_for_later(ahead + r * x.ahead_row + n);
    Floats of_a[kRegisters];
#pragma GCC unroll 4
    for (int j = 0; j < kRegisters; ++j) {
      of_a[j] = load_as_floats<V, kElement>(x.a, row + r * x.a_row + j * V::kLanes, count);
    }
#pragma GCC unroll 4
    for (int lane = 0; lane < kFewLanes; ++lane) {
      const Floats weight = V::all(p[r * x.lanes + lane]);
#pragma GCC unroll 4
      for (int j = 0; j < kRegisters; ++j) sums[lane][j] = V::fma(of_a[j], weight, sums[lane][j]);
    }
  }
#pragma GCC unroll 4
  for (int lane = 0; lane < kFewLanes; ++lane) {
#pragma GCC unroll 4
    for (int j = 0; j < kRegisters; ++j) V::store(out + lane * x.depth + j * V::kLanes, sums[lane][j], count);
  }
}

template <class V>
void scale_rows(const FewLanes& x) noexcept {
  for (std::int64_t l = 0; l < x.heads * x.each; ++l) {
    const typename V::Floats scale = V::all(x.scale[l]);
    float* const row = x.out + l * x.depth;
    std::int64_t k = 0;
    for (; k + V::kLanes <= x.depth; k += V::kLanes) V::store(row + k, V::mul(V::load(row + k, All{}), scale), All{});
    if (k == x.depth) continue;
    const Some rest{x.depth - k};
    V::store(row + k, V::mul(V::load(row + k, rest), scale), rest);
  }
}

template <class V, Element kElement>
void weighted_of(const FewLanes& x) noexcept {
  constexpr std::int64_t kWide = V::kDotRows * V::kLanes;
  if (x.scale != nullptr) scale_rows<V>(x);
  for (std::int64_t first = 0; first < x.rows; first += kFewRows) {
    const std::int64_t rows = first + kFewRows < x.rows ? kFewRows : x.rows - first;
    for (std::int64_t h = 0; h < x.heads; ++h) {
      const char* const ahead = fetched<V, kElement>(x, first, h);
      for (std::int64_t l = h * x.each; l < (h + 1) * x.each; l += kFewLanes) {
        const auto channels = [&]<int kRegisters>(std::int64_t k, auto count) noexcept {
          weighted_channels<V, kElement, kRegisters>(x, first * x.a_row + h * x.a_head + k, rows,
                                                     ahead + k * kBytesOf<kElement>, x.p + first * x.lanes + l,
                                                     x.out + l * x.depth + k, count);
        };
        std::int64_t k = 0;
        for (; k + kWide <= x.depth; k += kWide) channels.template operator()<V::kDotRows>(k, All{});
        for (; k + V::kLanes <= x.depth; k += V::kLanes) channels.template operator()<1>(k, All{});
        if (k < x.depth) channels.template operator()<1>(k, Some{x.depth - k});
      }
    }
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
