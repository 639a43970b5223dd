// The rotation kernel, written once over a vector of floats V and compiled once per instruction set.
//
//   (a, b) -> (a c - b s, b c + a s)      kernels/rotate_pair.h
//
// Rows outside, heads inside: cos and sin of a row are loaded, scaled and put into the order of the lanes once, and
// stay in registers while all heads pass. Where a head's rows are nearer in memory than a row's heads, heads are
// outside, and cos and sin of some rows, made likewise once, stay in L1. A group of steps of a head is read whole
// before it is written, in the order of addresses: touched as a0 b0 a1 b1 ..., a half layout in DRAM ran at 0.7 of the
// speed.
//
// An element type says how a run of elements becomes one or two registers of floats, and back. A step takes a run of
// each of its parts: Half has two parts, the a and the b of its pairs; Interleaved has one, a b a b ....
//
// An element type whose quick store may be inexact keeps a Doubt while a group is stored, and such a group is stored
// again. A branch for each store cost bfloat16 a tenth of its speed in L2.
//
// Loops over registers are unrolled by pragma, and what they call is inlined (flatten): at -O2, GCC 12 would keep them
// in memory.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "kernels/lanes.h"
#include "kernels/rotate_pair.h"

namespace posenc::kernels {

// A run of elements as floats: one register, or two for bf16.
template <class V, int kRegisters>
struct Wide {
  typename V::Floats x[kRegisters];
};

// ---- Element types: kWidth elements make a Run. ----

// f32: a register of V::kLanes elements, loaded and stored as they are. `keep` holds loads in the order of addresses.
template <class V>
struct F32 {
  using Doubt = Sure;
  using Type = float;
  using Run = Wide<V, 1>;
  static constexpr std::int64_t kWidth = V::kLanes;
  template <class Count>
  static Run load(const Type* p, Count count) noexcept {
    return {{V::keep(V::load(p, count))}};
  }
  template <class Count>
  static void store(Type* p, const Run& a, Count count, Doubt = {}) noexcept {
    V::store(p, a.x[0], count);
  }
  template <class Count>
  static Run load_angles(const float* p, Count count) noexcept {
    return load(p, count);
  }
};

// f16, IEEE binary16: converted by instructions on load and store, to nearest, ties to even.
template <class V>
struct F16 {
  using Doubt = Sure;
  using Type = std::uint16_t;
  using Run = Wide<V, 1>;
  static constexpr std::int64_t kWidth = V::kLanes;
  template <class Count>
  static Run load(const Type* p, Count count) noexcept {
    return {{V::keep(V::load_f16(p, count))}};
  }
  template <class Count>
  static void store(Type* p, const Run& a, Count count, Doubt = {}) noexcept {
    V::store_f16(p, a.x[0], count);
  }
  template <class Count>
  static Run load_angles(const float* p, Count count) noexcept {
    return F32<V>::load(p, count);
  }
};

// Elements at even places in one register, those at odd places in the other: a shift and a mask, where bringing them
// into order would cost shuffles. The angles are dealt alike, once per row.
template <class V>
struct Bf16 {
  using Doubt = typename V::Bf16Doubt;
  using Type = std::uint16_t;
  using Run = Wide<V, 2>;
  static constexpr std::int64_t kWidth = 2 * V::kLanes;
  template <class Count>
  static Run load(const Type* p, Count count) noexcept {
    Run out;
    V::load_bf16(p, out.x[0], out.x[1], count);
    return out;
  }
  template <class Count>
  static void store(Type* p, const Run& a, Count count) noexcept {
    V::store_bf16(p, a.x[0], a.x[1], count);
  }
  template <class Count>
  static void store(Type* p, const Run& a, Count count, Doubt& doubt) noexcept {
    if constexpr (requires { V::store_bf16(p, a.x[0], a.x[1], count, doubt); }) {
      V::store_bf16(p, a.x[0], a.x[1], count, doubt);
    } else {
      store(p, a, count);
    }
  }
  template <class Count>
  static Run load_angles(const float* p, Count count) noexcept {
    Run out;
    V::deal(V::bf16_nan(V::load(p, first_part<V>(count))), V::bf16_nan(V::load(p + V::kLanes, second_part<V>(count))),
            out.x[0], out.x[1]);
    return out;
  }
};

// ---- Steps: kPairs pairs. A count is one of pairs. ----

// Half-split pairing (NeoX, rotate_half): the a of a run of pairs are adjacent, and so are their b, `partner` further
// on.
template <class V, class E>
struct Half {
  using Element = E;
  static constexpr int kParts = 2;
  static constexpr std::int64_t kPairs = E::kWidth;
  struct Angles {
    typename E::Run c;
    typename E::Run s;
  };
  template <class Count>
  static Angles angles(const float* cos, const float* sin, Count count) noexcept {
    return {E::load_angles(cos, count), E::load_angles(sin, count)};
  }
  static void rotate_parts(typename E::Run (&part)[2], const Angles& t) noexcept {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < sizeof part[0].x / sizeof part[0].x[0]; ++i) {
      rotate_pair<V>(part[0].x[i], part[1].x[i], t.c.x[i], t.s.x[i]);
    }
  }
};

// Pairs side by side in one register: c c c c ... and -s s -s s ..., with the same roundings.
// Interleaved pairing (GPT-J, Meta): a b a b ... in memory. No shuffle into a and b is needed:
//
//   x c + swap(x) s with x = (a, b), swap(x) = (b, a), s = (-s, s)      = (a c - b s, b c + a s)
template <class V, class E>
struct Interleaved {
  using Element = E;
  static constexpr int kParts = 1;
  static constexpr std::int64_t kPairs = V::kLanes / 2;
  struct Angles {
    Wide<V, 1> c;
    Wide<V, 1> s;
  };
  template <class Count>
  static Angles angles(const float* cos, const float* sin, Count count) noexcept {
    return {{{V::load_twice(cos, count)}}, {{V::negate_even(V::load_twice(sin, count))}}};
  }
  static void rotate_parts(typename E::Run (&part)[1], const Angles& t) noexcept {
    const typename V::Floats x = part[0].x[0];
    part[0].x[0] = V::fma(x, t.c.x[0], V::mul(V::swap_pairs(x), t.s.x[0]));
  }
};

// Dealt to even and odd, an interleaved run is a and b.
template <class V>
struct Interleaved<V, Bf16<V>> {
  using Element = Bf16<V>;
  static constexpr int kParts = 1;
  static constexpr std::int64_t kPairs = V::kLanes;
  struct Angles {
    Wide<V, 1> c;
    Wide<V, 1> s;
  };
  template <class Count>
  static Angles angles(const float* cos, const float* sin, Count count) noexcept {
    return {{{V::bf16_nan(V::load(cos, count))}}, {{V::bf16_nan(V::load(sin, count))}}};
  }
  static void rotate_parts(typename Element::Run (&part)[1], const Angles& t) noexcept {
    rotate_pair<V>(part[0].x[0], part[0].x[1], t.c.x[0], t.s.x[0]);
  }
};

// ---- The loops. ----

// cos and sin times cos_scale and sin_scale: the attention factor, the sign of the inverse rotation.
template <class V, class W>
void scale(W& wide, float factor) noexcept {
  for (auto& x : wide.x) x = V::mul(x, V::all(factor));
}

// f(part, step, offset) for the runs of a group, in the order of their addresses.
template <class Step, int kSteps, class F>
void for_each_run(std::int64_t partner, F f) noexcept {
  constexpr std::int64_t kRun = Step::kPairs * (3 - Step::kParts);  // elements of one part of a step
#pragma GCC unroll 2
  for (int part = 0; part < Step::kParts; ++part) {
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; ++i) f(part, i, part * partner + i * kRun);
  }
}

// cos and sin of kSteps steps of a row, as Step::rotate_parts wants them.
template <class V, class Step, int kSteps, class Count>
void load_angles(const RotateRows& r, std::int64_t row, std::int64_t first, Count count,
                 typename Step::Angles* angles) noexcept {
#pragma GCC unroll 8
  for (int i = 0; i < kSteps; ++i) {
    const float* const cos = r.cos[row] + first + i * Step::kPairs;
    angles[i] = Step::angles(cos, cos + r.sin_offset, count);
    scale<V>(angles[i].c, r.cos_scale);
    scale<V>(angles[i].s, r.sin_scale);
  }
}

// Loaded once each: a product with what is in memory would load it each time it is used.
template <class V, class Step>
typename Step::Angles in_registers(typename Step::Angles angles) noexcept {
  for (auto& x : angles.c.x) x = V::keep(x);
  for (auto& x : angles.s.x) x = V::keep(x);
  return angles;
}

// A group of one head of one row. Lines are fetched ahead where `from` is below fetch_end.
template <class V, class Step, int kSteps, class Count>
[[gnu::always_inline]] inline void rotate_group(const typename Step::Element::Type* from,
                                                typename Step::Element::Type* to, std::int64_t partner,
                                                const typename Step::Angles* angles, Count count,
                                                const void* fetch_end) noexcept {
  using E = typename Step::Element;
  const auto elements = scaled<3 - Step::kParts>(count);
  if (from < fetch_end) {
    for_each_run<Step, kSteps>(partner, [from](int, int, std::int64_t offset) {
      V::fetch(from + offset + kFetchAheadBytes / sizeof(typename E::Type));
    });
  }
  typename E::Run x[kSteps][Step::kParts];
  for_each_run<Step, kSteps>(partner, [&x, from, elements](int part, int i, std::int64_t offset) {
    x[i][part] = E::load(from + offset, elements);
  });
#pragma GCC unroll 8
  for (int i = 0; i < kSteps; ++i) Step::rotate_parts(x[i], angles[i]);
  typename E::Doubt doubt;
  for_each_run<Step, kSteps>(partner, [&x, &doubt, to, elements](int part, int i, std::int64_t offset) {
    E::store(to + offset, x[i][part], elements, doubt);
  });
  if (doubt.is_open()) {
    for_each_run<Step, kSteps>(partner, [&x, to, elements](int part, int i, std::int64_t offset) {
      E::store(to + offset, x[i][part], elements);
    });
  }
}

// Rows outside: cos and sin of one token serve all its heads ([tokens, heads, head_dim]).
struct OneRow {
  std::int64_t row;
};

// Pairs first .. first + kSteps * kPairs of every head of one row; fewer where Count is Some, and then kSteps is 1.
template <class V, class Step, int kSteps, class Count>
[[gnu::flatten]] void rotate_heads(const RotateRows& r, OneRow of, std::int64_t first, Count count) noexcept {
  using Type = typename Step::Element::Type;
  typename Step::Angles angles[kSteps];
  load_angles<V, Step, kSteps>(r, of.row, first, count, angles);

  const std::int64_t channel = first * (3 - Step::kParts);
  const Type* from = static_cast<const Type*>(r.from) + of.row * r.from_row + channel;
  Type* to = static_cast<Type*>(r.to) + of.row * r.to_row + channel;
  // Copies: as far as the compiler knows, a store to the tensor may change what r holds.
  const std::int64_t partner = r.partner;
  const std::int64_t from_head = r.from_head;
  const std::int64_t to_head = r.to_head;
  const void* const fetch_end = r.fetch_end;
  for (std::int64_t h = r.heads; h > 0; --h, from += from_head, to += to_head) {
    rotate_group<V, Step, kSteps>(from, to, partner, angles, count, fetch_end);
  }
}

// Whose cos and sin stay in L1 while all heads pass: 16 KiB at most.
struct SomeRows {
  static constexpr std::int64_t kMost = 16;
  std::int64_t row;
  std::int64_t count;
};

// The same of some rows, head by head.
template <class V, class Step, int kSteps, class Count>
[[gnu::flatten]] void rotate_heads(const RotateRows& r, SomeRows of, std::int64_t first, Count count) noexcept {
  using Type = typename Step::Element::Type;
  typename Step::Angles kept[SomeRows::kMost][kSteps];
  for (std::int64_t t = 0; t < of.count; ++t) load_angles<V, Step, kSteps>(r, of.row + t, first, count, kept[t]);

  const std::int64_t channel = first * (3 - Step::kParts);
  const std::int64_t partner = r.partner;
  const std::int64_t from_row = r.from_row;
  const std::int64_t to_row = r.to_row;
  const auto* fetch_end = static_cast<const Type*>(r.fetch_end);
  for (std::int64_t h = 0; h < r.heads; ++h) {
    const Type* from = static_cast<const Type*>(r.from) + h * r.from_head + of.row * from_row + channel;
    Type* to = static_cast<Type*>(r.to) + h * r.to_head + of.row * to_row + channel;
    for (std::int64_t t = 0; t < of.count; ++t, from += from_row, to += to_row) {
      typename Step::Angles angles[kSteps];
#pragma GCC unroll 8
      for (int i = 0; i < kSteps; ++i) angles[i] = in_registers<V, Step>(kept[t][i]);
      rotate_group<V, Step, kSteps>(from, to, partner, angles, count, fetch_end);
    }
    if (fetch_end != nullptr) fetch_end += r.from_head;
  }
}

// As many whole groups of kSteps as there are, then smaller ones, then the rest of a step.
template <class V, class Step, int kSteps, class Rows>
void rotate_groups(const RotateRows& r, Rows of, std::int64_t first) noexcept {
  constexpr std::int64_t kGroup = kSteps * Step::kPairs;
  for (; first + kGroup <= r.pairs; first += kGroup) rotate_heads<V, Step, kSteps>(r, of, first, All{});
  if constexpr (kSteps > 1) {
    rotate_groups<V, Step, kSteps / 2>(r, of, first);
  } else if (first < r.pairs) {
    rotate_heads<V, Step, 1>(r, of, first, Some{r.pairs - first});
  }
}

// Chooses how many steps are in registers at a time, and which of rows and heads is the outer loop.
template <class V, class Step>
void rotate_rows(const RotateRows& r) noexcept {
  // cos and sin of a group, and the group itself, are in registers at a time.
  constexpr std::size_t kStepBytes = sizeof(typename Step::Angles) + Step::kParts * sizeof(typename Step::Element::Run);
  constexpr std::size_t kFit = V::kRegisters * sizeof(typename V::Floats) / kStepBytes;
  constexpr int kSteps = kFit >= 8 ? 8 : kFit >= 4 ? 4 : kFit >= 2 ? 2 : 1;
  const auto distance = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  if (r.rows > 1 && distance(r.from_head) > distance(r.from_row)) {
    for (std::int64_t row = 0; row < r.rows; row += SomeRows::kMost) {
      const std::int64_t left = r.rows - row;
      rotate_groups<V, Step, kSteps>(r, SomeRows{row, left < SomeRows::kMost ? left : SomeRows::kMost}, 0);
    }
    return;
  }
  for (std::int64_t row = 0; row < r.rows; ++row) rotate_groups<V, Step, kSteps>(r, OneRow{row}, 0);
}

// partner 0 stands for interleaved pairs, whose second channel is the next one.
template <class V, class E>
void rotate_elements(const RotateRows& r) noexcept {
  if (r.partner != 0) {
    rotate_rows<V, Half<V, E>>(r);
  } else {
    rotate_rows<V, Interleaved<V, E>>(r);
  }
}

// The entry of KernelTable::rotate: dispatches on dtype and pairing, once a call.
template <class V>
void rotate(const RotateRows& r) noexcept {
  switch (r.element) {
    case Element::f32: return rotate_elements<V, F32<V>>(r);
    case Element::f16: return rotate_elements<V, F16<V>>(r);
    case Element::bf16: return rotate_elements<V, Bf16<V>>(r);
  }
}

}  // namespace posenc::kernels
