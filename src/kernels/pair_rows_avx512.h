// Packs floats into the operands of bfloat16 dot products, in registers of AVX-512: PairRows and PairColumns of pairs.h
// (the VNNI layout of VDPBF16PS and TDPBF16PS: two neighbours along the summed axis in one 32-bit word). Used by
// pairs_avx512.cpp and pairs_amx.cpp.
#pragma once

#include "kernels/isa/floats_avx512.h"
#include "kernels/load_floats.h"
#include "kernels/pairs.h"

namespace posenc::kernels {
namespace {

using V = Avx512Floats;

constexpr std::int64_t kSide = V::kLanes;  // words of a register, and registers of a square of them

void pair_rows(const PairRows& x) noexcept {
  const std::int64_t pairs = (x.rows + 1) / 2;
  const std::int64_t end = (pairs + kPairRows - 1) / kPairRows * kPairRows;
  for (std::int64_t l = 0; l < x.lanes; l += V::kLanes) {
    V::Floats sum = x.sum == nullptr ? V::all(0.0F) : V::load(x.sum + l, All{});
    std::uint32_t* to = x.to + l;
    for (std::int64_t n = 0; n < end; ++n, to += x.lanes) {
      const float* const row = x.x + 2 * n * x.lanes + l;
      auto* const words = reinterpret_cast<std::uint16_t*>(to);
      const V::Floats low = 2 * n < x.rows ? V::load(row, All{}) : V::all(0.0F);
      const V::Floats high = 2 * n + 1 < x.rows ? V::load(row + x.lanes, All{}) : V::all(0.0F);
      V::store_bf16(words, low, high, All{});
      if (x.sum == nullptr) continue;
      V::Floats rounded_low;
      V::Floats rounded_high;
      V::load_bf16(words, rounded_low, rounded_high, All{});
      sum = V::add(V::add(sum, rounded_low), rounded_high);
    }
    if (x.sum != nullptr) V::store(x.sum + l, sum, All{});
  }
}

// Words [kSide][kSide], rows and columns exchanged: those of pairs of rows, of 4, of 8, of 16.
void exchange(__m512i (&w)[kSide]) noexcept {
  __m512i t[kSide];
#pragma GCC unroll 8
  for (int i = 0; i < kSide; i += 2) {
    t[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kSide; i += 4) {
    w[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    w[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    w[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    w[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // Now quarter q of w[4 g + i] has column 4 q + i of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    w[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    w[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    w[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    w[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

// Columns c .. of 2 kSide rows from `first` on.
template <Element kElement, class Count>
void square_of_columns(const PairColumns& x, std::int64_t first, std::int64_t c, Count columns,
                       std::int64_t count) noexcept {
  __m512i words[kSide];
  for (std::int64_t n = 0; n < kSide; ++n) {
    const auto row = [&](std::int64_t r) noexcept {
      return r < x.rows ? load_as_floats<V, kElement>(x.x, r * x.x_row + c, columns) : V::all(0.0F);
    };
    words[n] = V::pairs_of_bf16(row(first + 2 * n), row(first + 2 * n + 1));
  }
  exchange(words);
  for (std::int64_t n = 0; n < count; ++n) _mm512_storeu_si512(x.to + (c + n) * kPairColumns + first, words[n]);
}

template <Element kElement>
void pair_columns_of(const PairColumns& x) noexcept {
  for (std::int64_t first = 0; first < kPairColumns; first += 2 * kSide) {
    std::int64_t c = 0;
    for (; c + kSide <= x.width; c += kSide) square_of_columns<kElement>(x, first, c, All{}, kSide);
    if (c < x.width) square_of_columns<kElement>(x, first, c, Some{x.width - c}, x.width - c);
  }
}

void pair_columns(const PairColumns& x) noexcept {
  switch (x.element) {
    case Element::f32: return pair_columns_of<Element::f32>(x);
    case Element::f16: return pair_columns_of<Element::f16>(x);
    case Element::bf16: return pair_columns_of<Element::bf16>(x);
  }
}

}  // namespace
}  // namespace posenc::kernels
