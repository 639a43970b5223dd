// Orders in which the heads of a rotation can be read and written, f32, half layout, kHeadDim channels one after the
// other: with the formula between loads and stores, or with nothing.
//
// A head is 8 lines, and registers of AVX-512 hold a line each: a0 a1 a2 a3 b0 b1 b2 b3.
#pragma once

#include "kernels/rotate_loop.h"
#include "rotate_floors.h"

namespace posenc::bench {
namespace {

constexpr std::int64_t kHeadDim = 128;

// How a line is written: as the kernel does; by a non-temporal store; or after a prefetch for writing of the line 2 KiB
// on.
enum class Stores { cached, past_caches, asked_for_ahead };

// How a head goes through registers. V is of AVX-512.
// kRotates: with the formula, or loads and stores alone. Angles: cos and sin of a row in registers, for all of its
// heads.
template <class V, bool kRotates, Stores stores = Stores::cached>
struct OneHead {
  using Floats = typename V::Floats;
  static constexpr int kHalf = kHeadDim / 2 / V::kLanes;  // lines
  static constexpr int kLines = 2 * kHalf;

  struct Angles {
    Floats c[kHalf];
    Floats s[kHalf];
  };

  static Angles angles(const float* cos, std::int64_t sin_offset) noexcept {
    Angles out;
#pragma GCC unroll 4
    for (int i = 0; i < kHalf; ++i) {
      out.c[i] = V::keep(V::load(cos + i * V::kLanes, kernels::All{}));
      out.s[i] = V::keep(V::load(cos + i * V::kLanes + sin_offset, kernels::All{}));
    }
    return out;
  }
  static Floats load(const float* head, int line) noexcept {
    return V::keep(V::load(head + line * V::kLanes, kernels::All{}));
  }
  static void load(Floats (&x)[kLines], const float* head) noexcept {
#pragma GCC unroll 8
    for (int i = 0; i < kLines; ++i) x[i] = load(head, i);
  }
  static void rotate(Floats (&x)[kLines], const Angles& angles) noexcept {
#pragma GCC unroll 4
    for (int i = 0; i < kHalf; ++i) rotate(x[i], x[i + kHalf], angles, i);
  }
  static void rotate(Floats& a, Floats& b, const Angles& angles, int i) noexcept {
    if constexpr (kRotates) kernels::rotate_pair<V>(a, b, angles.c[i], angles.s[i]);
  }
  static void store(float* head, int line, Floats x) noexcept {
    constexpr std::int64_t kAhead = 512;  // floats, 2 KiB; 512 bytes and 8 KiB were no better
    float* const p = head + line * V::kLanes;
    if constexpr (stores == Stores::asked_for_ahead) asm volatile("prefetchw %0" : : "m"(p[kAhead]));
    if constexpr (stores == Stores::past_caches) {
      _mm512_stream_ps(p, x);
    } else {
      V::store(p, x, kernels::All{});
    }
  }
  static void store(float* head, const Floats (&x)[kLines]) noexcept {
#pragma GCC unroll 8
    for (int i = 0; i < kLines; ++i) store(head, i, x[i]);
  }
};

// f(from, to, angles) for each row.
// Head: OneHead, which says what the angles of a row are and how lines are read and written.
template <class Head, class F>
void for_each_row(const kernels::RotateRows& r, F f) noexcept {
  const auto* from = static_cast<const float*>(r.from);
  auto* to = static_cast<float*>(r.to);
  for (std::int64_t row = 0; row < r.rows; ++row, from += r.from_row, to += r.to_row) {
    f(from, to, Head::angles(r.cos[row], r.sin_offset));
  }
}

// All of a head, then the next: the kernel's.
template <class Head>
void head_by_head(const kernels::RotateRows& r) noexcept {
  for_each_row<Head>(r, [heads = r.heads](const float* from, float* to, const typename Head::Angles& angles) {
    for (std::int64_t h = heads; h > 0; --h, from += kHeadDim, to += kHeadDim) {
      typename Head::Floats x[Head::kLines];
      Head::load(x, from);
      Head::rotate(x, angles);
      Head::store(to, x);
    }
  });
}

// kSteps lines of a and their partners at a time.
template <class Head, int kSteps>
void by_lines(const kernels::RotateRows& r) noexcept {
  for_each_row<Head>(r, [heads = r.heads](const float* from, float* to, const typename Head::Angles& angles) {
    for (std::int64_t h = heads; h > 0; --h, from += kHeadDim, to += kHeadDim) {
#pragma GCC unroll 4
      for (int first = 0; first < Head::kHalf; first += kSteps) {
        typename Head::Floats a[kSteps];
        typename Head::Floats b[kSteps];
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) a[i] = Head::load(from, first + i);
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) b[i] = Head::load(from, first + i + Head::kHalf);
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) Head::rotate(a[i], b[i], angles, first + i);
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) Head::store(to, first + i, a[i]);
#pragma GCC unroll 4
        for (int i = 0; i < kSteps; ++i) Head::store(to, first + i + Head::kHalf, b[i]);
      }
    }
  });
}

// Two heads read, then both written. As all below, for an even number of heads.
template <class Head>
void two_heads(const kernels::RotateRows& r) noexcept {
  for_each_row<Head>(r, [heads = r.heads](const float* from, float* to, const typename Head::Angles& angles) {
    for (std::int64_t h = heads; h > 0; h -= 2, from += 2 * kHeadDim, to += 2 * kHeadDim) {
      typename Head::Floats x[Head::kLines];
      typename Head::Floats y[Head::kLines];
      Head::load(x, from);
      Head::load(y, from + kHeadDim);
      Head::rotate(x, angles);
      Head::rotate(y, angles);
      Head::store(to, x);
      Head::store(to + kHeadDim, y);
    }
  });
}

// The next head is read before this one is written.
template <class Head>
void read_ahead(const kernels::RotateRows& r) noexcept {
  for_each_row<Head>(r, [heads = r.heads](const float* from, float* to, const typename Head::Angles& angles) {
    typename Head::Floats x[Head::kLines];
    typename Head::Floats y[Head::kLines];
    Head::load(x, from);
    for (std::int64_t h = heads; h > 0; h -= 2, from += 2 * kHeadDim, to += 2 * kHeadDim) {
      Head::load(y, from + kHeadDim);
      Head::rotate(x, angles);
      Head::store(to, x);
      if (h > 2) Head::load(x, from + 2 * kHeadDim);
      Head::rotate(y, angles);
      Head::store(to + kHeadDim, y);
    }
  });
}

// A line of the next head is read after each that is written, as RMW has it.
template <class Head>
void by_turns(const kernels::RotateRows& r) noexcept {
  for_each_row<Head>(r, [heads = r.heads](const float* from, float* to, const typename Head::Angles& angles) {
    typename Head::Floats x[Head::kLines];
    Head::load(x, from);
    for (std::int64_t h = heads; h > 1; --h, to += kHeadDim) {
      from += kHeadDim;
      Head::rotate(x, angles);
#pragma GCC unroll 8
      for (int i = 0; i < Head::kLines; ++i) {
        Head::store(to, i, x[i]);
        x[i] = Head::load(from, i);
      }
    }
    Head::rotate(x, angles);
    Head::store(to, x);
  });
}

template <class V, bool kRotates>
using AskedFor = OneHead<V, kRotates, Stores::asked_for_ahead>;
template <class V, bool kRotates>
using PastCaches = OneHead<V, kRotates, Stores::past_caches>;

// Each by itself (Bare), and with the formula (Rotated).
template <class V>
Orders orders() {
  using Bare = OneHead<V, false>;
  using Rotated = OneHead<V, true>;
  return {{"head by head, the kernel's", head_by_head<Bare>, head_by_head<Rotated>},
          {"half a head", by_lines<Bare, 2>, by_lines<Rotated, 2>},
          {"a line and its partner", by_lines<Bare, 1>, by_lines<Rotated, 1>},
          {"two heads", two_heads<Bare>, two_heads<Rotated>},
          {"the next head read before", read_ahead<Bare>, read_ahead<Rotated>},
          {"lines read and written by turns", by_turns<Bare>, by_turns<Rotated>},
          {"asked for 2 KiB before the store", head_by_head<AskedFor<V, false>>, head_by_head<AskedFor<V, true>>}};
}

template <class V>
Orders orders_past_caches() {
  return {{"stored past the caches", head_by_head<PastCaches<V, false>>, head_by_head<PastCaches<V, true>>}};
}

}  // namespace
}  // namespace posenc::bench
