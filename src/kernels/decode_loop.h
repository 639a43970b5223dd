// The decode kernel: QK^T and PV of a tile for few queries a KV head (one token of a GQA group, a few speculative
// ones), where memory bandwidth is the limit. Entry points: decode_dots and decode_weighted, at the end of this file.
// Written once over a vector of floats V with channels in its lanes.
//
//   c[r][l]   = sum_k a[r][k] b[l][k]                    scores; a: keys, rotated on load where LoadRotation says so
//   out[l][k] = scale[l] out[l][k] + sum_r a[r][k] p[r][l]      a: values
//
// Between the two: biases, mask and softmax, score_loop.h. Around them: tiles, src/cpu/attend/decode_products.h; the
// cut of the keys over threads and the join of its parts, src/cpu/attend/attend.cpp. Prefill: product_loop.h.
//
// A row of the KV cache is read once, in its own dtype, for all queries that share it (GQA, arXiv 2305.13245); what
// else is multiplied at the same time changes no sum. Some rows of all heads are read before the next ones, so that
// memory is read nearly in its order where the heads of a token lie together; prefetches follow that order too.
//
// attend takes it where the queries of a KV head (tokens times GQA group) are few (cpu/attend/lane_block.cpp,
// is_decode): up to 24 in AVX-512, 12 in AVX2, 4 in NEON. More, and all of the scalar kernels, are multiplied by
// product_loop.h, in floats or pairs (pairs.h). QK^T of queries and keys in bfloat16 that nothing rotates is in pairs
// here too, by avx512_bf16: decode_dots_of with the factors of pairs_avx512.cpp. Linear attention's step takes
// decode_weighted alone. Interface: attention.h. Measured: docs/performance.md.
#pragma once

#include "kernels/attention.h"
#include "kernels/codes/load_codes.h"
#include "kernels/decode_ahead.h"
#include "kernels/lanes.h"
#include "kernels/load_floats.h"
#include "kernels/rotate_pair.h"

namespace posenc::kernels {

// Rows are of Elements, or of Codes (load_codes.h): bytes of what strides count, and the channels of a line.
consteval std::int64_t bytes_of(Element element) noexcept { return element == Element::f32 ? 4 : 2; }
consteval std::int64_t bytes_of(Codes) noexcept { return 1; }
consteval std::int64_t channels_of_line(Element element) noexcept { return kLineBytes / bytes_of(element); }
consteval bool is(Element a, Element b) noexcept { return a == b; }
consteval bool is(Codes, Element) noexcept { return false; }
template <auto kType>
constexpr std::int64_t kBytesOf = bytes_of(kType);

// How often a line is prefetched where it is first asked for, and how often where it is asked for again. A processor
// whose fill buffers are busy drops prefetches, and the load that needs the line later waits for memory instead: what
// was dropped first finds other buffers free when it is asked for again, half as far ahead.
struct Asks {
  int first;
  int again;
};

// Channels of a row; and what is fetched beside some rows of a head, line n of row r at + r ahead_row + n ahead_line,
// and `again` bytes from there. Of V, so that functions of an instruction set are its own.
template <class V, Asks kAsked>
struct AnyShape {
  static constexpr Asks kAsks = kAsked;
  std::int64_t depth;
  std::int64_t ahead_row;
  std::int64_t ahead_line;
  std::int64_t again;
  static LoadRotation rotation(const DecodeLanes& x) noexcept { return x.rotation; }
};
// The most usual: heads of 128 channels, all or none of which rotate, and lines in the order of memory. Where the
// compiler knows the strides, rows and queries take one address each; else general registers do not suffice, and
// products wait for addresses.
template <class V, Asks kAsked>
struct UsualShape {
  static constexpr Asks kAsks = kAsked;
  // NOLINTBEGIN(readability-identifier-naming): named as those of AnyShape
  static constexpr std::int64_t depth = 128;
  static constexpr std::int64_t ahead_row = kLineBytes;
  static constexpr std::int64_t ahead_line = kDecodeRows * kLineBytes;
  static constexpr std::int64_t again = kBytesAgain - kBytesAhead;
  // NOLINTEND(readability-identifier-naming)
  static LoadRotation rotation(const DecodeLanes& x) noexcept {
    return {.cos = x.rotation.cos, .row = depth, .pairs = depth / 2, .interleaved = x.rotation.interleaved};
  }
  static bool is_of(const DecodeLanes& x) noexcept {
    const LoadRotation& rotation = x.rotation;
    const bool rotates_all = rotation.row == depth && rotation.first == 0 && rotation.pairs == depth / 2;
    return x.depth == depth && x.ahead_row == ahead_row && x.ahead_line == ahead_line &&
           (kAsks.again == 0 || x.ahead_again == again) && (rotation.cos == nullptr || rotates_all);
  }
};

template <class V, auto kElement>
const char* row_of(const DecodeLanes& x, std::int64_t r, std::int64_t h) noexcept {
  return static_cast<const char*>(x.a) + (r * x.a_row + h * x.a_head) * kBytesOf<kElement>;
}

// Of codes int8 alone: each type more is as many loops once more.
consteval bool has_usual_shape(Element) noexcept { return true; }
consteval bool has_usual_shape(Codes codes) noexcept { return codes == Codes::int8; }

// run(shape) of those above, and how often lines are asked for (docs/performance/decode.md). f32 that nothing rotates,
// met by kDecodeLanes lanes alone, waits for memory, not for addresses: in the usual shape it took longer from there.
// What rotates is asked for less; more lanes than kDecodeLanes meet a line several times, and ask each time; elements
// of less than 32 bits wait for arithmetic.
template <class V, auto kElement, bool kRotates, class Run>
void with_shape(const DecodeLanes& x, const Run& run) noexcept {
  constexpr bool kIsFloat = is(kElement, Element::f32);
  const auto any = [&]<Asks kAsks>() noexcept {
    run(AnyShape<V, kAsks>{x.depth, x.ahead_row, x.ahead_line, x.ahead_again});
  };
  const auto usual = [&]<Asks kAsks>() noexcept {
    if constexpr (has_usual_shape(kElement)) {
      if (UsualShape<V, kAsks>::is_of(x)) return run(UsualShape<V, kAsks>{});
    }
    any.template operator()<kAsks>();
  };
  constexpr Asks kAlways = kIsFloat ? Asks{2, 0} : Asks{1, 0};
  // Where nothing is to be fetched, the rows themselves are, which takes an instruction and no time.
  if (x.ahead == nullptr) return run(AnyShape<V, kAlways>{x.depth, x.a_row * kBytesOf<kElement>, kLineBytes, 0});
  if constexpr (kIsFloat) {
    if (x.each == kDecodeLanes) {
      if constexpr (kRotates) {
        return usual.template operator()<Asks{1, 1}>();
      } else {
        return any.template operator()<Asks{2, 2}>();
      }
    }
  }
  usual.template operator()<kAlways>();
}

// The first line that is fetched beside row r of head h.
template <class V, auto kElement>
const char* fetched(const DecodeLanes& x, std::int64_t r, std::int64_t h, const auto& shape) noexcept {
  if (x.ahead == nullptr) return row_of<V, kElement>(x, r, h);
  const char* const group = static_cast<const char*>(x.ahead) + r / kDecodeRows * x.ahead_next + h * x.ahead_head;
  return group + r % kDecodeRows * shape.ahead_row;
}

// Prefetches one line beside each of kRows rows. In groups of 64 they would fill the line fill buffers, and loads would
// wait for those.
template <class V, int kRows, class Shape>
void fetch_lines(const Shape& shape, const char*& ahead) noexcept {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int n = 0; n < Shape::kAsks.first; ++n) V::fetch_for_later(ahead + r * shape.ahead_row);
#pragma GCC unroll 2
    for (int n = 0; n < Shape::kAsks.again; ++n) V::fetch_for_later(ahead + r * shape.ahead_row + shape.again);
  }
  ahead += shape.ahead_line;
}

// step(k, count) for registers of channels from `first` on.
template <class Factors, int kRows, class Shape, class Step>
void for_channels(std::int64_t first, std::int64_t end, const Shape& shape, const char*& ahead,
                  const Step& step) noexcept {
  constexpr std::int64_t kLine = channels_of_line(Factors::kElement);
  constexpr std::int64_t kLanes = Factors::kLanes;
  std::int64_t k = first;
  for (; k + kLine <= end; k += kLine) {
    fetch_lines<typename Factors::V, kRows>(shape, ahead);
#pragma GCC unroll 8
    for (std::int64_t j = 0; j < kLine; j += kLanes) step(k + j, All{});
  }
  for (; k + kLanes <= end; k += kLanes) step(k, All{});
  if (k < end) step(k, Some{end - k});
}

// step(p, count) for registers of pairs, each two registers of channels.
template <class Factors, int kRows, class Step>
void for_pairs(std::int64_t pairs, const auto& shape, const char*& ahead, const Step& step) noexcept {
  constexpr std::int64_t kLine = channels_of_line(Factors::kElement) / 2;
  constexpr std::int64_t kLanes = Factors::kLanes;
  constexpr std::int64_t kGroup = kLanes < kLine ? kLine : kLanes;
  std::int64_t p = 0;
  for (; p + kGroup <= pairs; p += kGroup) {
#pragma GCC unroll 2
    for (std::int64_t j = 0; j < kGroup; j += kLine) fetch_lines<typename Factors::V, kRows>(shape, ahead);
#pragma GCC unroll 8
    for (std::int64_t j = 0; j < kGroup; j += kLanes) step(p + j, All{});
  }
  for (; p + kLanes <= pairs; p += kLanes) step(p, All{});
  if (p < pairs) step(p, Some{pairs - p});
}

// use<kRows>(r, h, l): rows r .. of head h beside kDecodeLanes lanes from l on.
template <class V, class Use>
void for_rows_and_lanes(const DecodeLanes& x, const Use& use) noexcept {
  for (std::int64_t first = 0; first < x.rows; first += kDecodeRows) {
    const std::int64_t end = first + kDecodeRows < x.rows ? first + kDecodeRows : x.rows;
    for (std::int64_t h = 0; h < x.heads; ++h) {
      for (std::int64_t l = h * x.each; l < (h + 1) * x.each; l += kDecodeLanes) {
        std::int64_t r = first;
        for (; r + V::kDotRows <= end; r += V::kDotRows) use.template operator()<V::kDotRows>(r, h, l);
        for (; r < end; ++r) use.template operator()<1>(r, h, l);
      }
    }
  }
}

// What rows are multiplied with as a whole: nothing, or row r of head h with scale[r row + h head] (Codes).
struct Unscaled {};
struct RowScales {
  const float* scale;
  std::int64_t row;
  std::int64_t head;
};

// What decode_dots multiplies: floats, of elements of any type.
template <class Vector, auto kType>
struct DecodeFloats {
  using V = Vector;
  using B = const float*;
  static constexpr auto kElement = kType;
  static constexpr std::int64_t kLanes = V::kLanes;  // elements of a register
  template <class Count>
  static typename V::Floats load_a(const void* a, std::int64_t i, Count count) noexcept {
    return load_as_floats<V, kElement>(a, i, count);
  }
  template <class Count>
  static typename V::Floats load_b(B b, Count count) noexcept {
    return V::load(b, count);
  }
  static typename V::Floats multiply_add(typename V::Floats a, typename V::Floats b, typename V::Floats c) noexcept {
    return V::fma(a, b, c);
  }
};

// Which channels are rotated on load: none, or those of LoadRotation, paired half-split (NeoX) or interleaved (GPT-J).
enum class PairsOnLoad : std::uint8_t { none, half, interleaved };

// The first and the second channels of pairs p .. of LoadRotation, of the row of a head at `a`.
template <class V, auto kElement, PairsOnLoad kPairs, class Count>
void load_pairs(const void* a, const LoadRotation& rotation, std::int64_t p, Count count, typename V::Floats& first,
                typename V::Floats& second) noexcept {
  [[maybe_unused]] const std::int64_t i = rotation.first + 2 * p;  // where pairs are interleaved
  [[maybe_unused]] const auto channels = scaled<2>(count);
  if constexpr (kPairs == PairsOnLoad::half) {
    first = load_as_floats<V, kElement>(a, rotation.first + p, count);
    second = load_as_floats<V, kElement>(a, rotation.first + rotation.pairs + p, count);
  } else if constexpr (is(kElement, Element::bf16)) {
    V::load_bf16(static_cast<const std::uint16_t*>(a) + i, first, second, channels);
  } else if constexpr (is(kElement, Element::f16) &&
                       requires { V::load_f16(static_cast<const std::uint16_t*>(a), first, second, channels); }) {
    V::load_f16(static_cast<const std::uint16_t*>(a) + i, first, second, channels);
  } else {
    V::deal(load_as_floats<V, kElement>(a, i, first_part<V>(channels)),
            load_as_floats<V, kElement>(a, i + V::kLanes, second_part<V>(channels)), first, second);
  }
}

// RoPE is applied in registers. Keys that were rotated before, written as floats and read again, cost 1.2 to 1.8 times
// a call without RoPE from memory, where this costs 1.0 to 1.4 (docs/performance.md). Flattened, since a step that is
// called from several places is a function otherwise, and its sums are in memory.
template <class Factors, PairsOnLoad kPairs, class Scales>
[[gnu::flatten]] void decode_dots_in(const DecodeLanes& x, const auto& shape, typename Factors::B of_lanes,
                                     Scales scales) noexcept {
  using V = typename Factors::V;
  for_rows_and_lanes<V>(x, [&]<int kRows>(std::int64_t row, std::int64_t h, std::int64_t l) noexcept {
    const char* const a = row_of<V, Factors::kElement>(x, row, h);
    const std::int64_t step = x.a_row * kBytesOf<Factors::kElement>;
    const std::int64_t depth = shape.depth;
    const auto b = of_lanes + l * depth;
    typename V::Floats sums[kRows][kDecodeLanes];
#pragma GCC unroll 4
    for (auto& of_row : sums) {
#pragma GCC unroll 4
      for (typename V::Floats& sum : of_row) sum = V::all(0.0F);
    }
    const char* ahead = fetched<V, Factors::kElement>(x, row, h, shape);
    const auto as_they_lie = [&](std::int64_t k, auto count) noexcept {
      decltype(Factors::load_b(b, count)) of_b[kDecodeLanes];
#pragma GCC unroll 4
      for (int lane = 0; lane < kDecodeLanes; ++lane) of_b[lane] = Factors::load_b(b + lane * depth + k, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const auto of_a = Factors::load_a(a + r * step, k, count);
#pragma GCC unroll 4
        for (int lane = 0; lane < kDecodeLanes; ++lane) {
          sums[r][lane] = Factors::multiply_add(of_a, of_b[lane], sums[r][lane]);
        }
      }
    };
    if constexpr (kPairs == PairsOnLoad::none) {
      for_channels<Factors, kRows>(0, depth, shape, ahead, as_they_lie);
    } else {
      const LoadRotation of = shape.rotation(x);
      const float* const cos = of.cos + row * of.row;
      for_channels<Factors, kRows>(0, of.first, shape, ahead, as_they_lie);
      for_pairs<Factors, kRows>(of.pairs, shape, ahead, [&](std::int64_t p, auto count) noexcept {
        typename V::Floats of_b[kDecodeLanes][2];
#pragma GCC unroll 4
        for (int lane = 0; lane < kDecodeLanes; ++lane) {
          of_b[lane][0] = V::load(b + lane * depth + of.first + p, count);
          of_b[lane][1] = V::load(b + lane * depth + of.first + of.pairs + p, count);
        }
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          typename V::Floats first;
          typename V::Floats second;
          load_pairs<V, Factors::kElement, kPairs>(a + r * step, of, p, count, first, second);
          rotate_pair<V>(first, second, V::load(cos + r * of.row + p, count),
                         V::load(cos + r * of.row + of.pairs + p, count));
#pragma GCC unroll 4
          for (int lane = 0; lane < kDecodeLanes; ++lane) {
            sums[r][lane] = V::fma(first, of_b[lane][0], sums[r][lane]);
            sums[r][lane] = V::fma(second, of_b[lane][1], sums[r][lane]);
          }
        }
      });
      for_channels<Factors, kRows>(of.first + 2 * of.pairs, depth, shape, ahead, as_they_lie);
    }
    float* const c = x.c + row * x.lanes + l;
    if constexpr (__is_same(Scales, Unscaled)) {
      V::store_sums(c, x.lanes, sums);
    } else {
      const float* const own = scales.scale + row * scales.row + h * scales.head;
      V::store_sums(c, x.lanes, sums, [=](std::int64_t r, auto four) noexcept {
        const float scale = own[r * scales.row];
        return four * decltype(four){scale, scale, scale, scale};
      });
    }
  });
}

// Of the channels as they lie, or rotated.
template <class Factors, PairsOnLoad kPairs, class Scales = Unscaled>
void decode_dots_of(const DecodeLanes& x, typename Factors::B of_lanes, Scales scales = {}) noexcept {
  with_shape<typename Factors::V, Factors::kElement, kPairs != PairsOnLoad::none>(
      x, [&](const auto& shape) noexcept { decode_dots_in<Factors, kPairs>(x, shape, of_lanes, scales); });
}

// The online softmax's rescale of what has been summed; mostly 1, since the maximum rarely changes after some tiles.
template <class V>
void scale_rows(const DecodeLanes& x) noexcept {
  for (std::int64_t l = 0; l < x.heads * x.each; ++l) {
    if (x.scale[l] == 1.0F) continue;
    const typename V::Floats scale = V::all(x.scale[l]);
    float* const row = x.out + l * x.depth;
    std::int64_t k = 0;
    for (; k + V::kLanes <= x.depth; k += V::kLanes) V::store(row + k, V::mul(V::load(row + k, All{}), scale), All{});
    if (k == x.depth) continue;
    const Some rest{x.depth - k};
    V::store(row + k, V::mul(V::load(row + k, rest), scale), rest);
  }
}

// The weights of some rows stay in registers, and their channels pass by.
template <class V, auto kElement, class Scales>
[[gnu::flatten]] void decode_weighted_in(const DecodeLanes& x, const auto& shape,
                                         [[maybe_unused]] Scales scales) noexcept {
  using Floats = typename V::Floats;
  for_rows_and_lanes<V>(x, [&]<int kRows>(std::int64_t row, std::int64_t h, std::int64_t l) noexcept {
    const char* const a = row_of<V, kElement>(x, row, h);
    const std::int64_t step = x.a_row * kBytesOf<kElement>;
    const std::int64_t depth = shape.depth;
    float* const out = x.out + l * depth;
    Floats weights[kRows][kDecodeLanes];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int lane = 0; lane < kDecodeLanes; ++lane) weights[r][lane] = V::all(x.p[(row + r) * x.lanes + l + lane]);
      if constexpr (!__is_same(Scales, Unscaled)) {
        const Floats scale = V::keep(V::all(scales.scale[(row + r) * scales.row + h * scales.head]));
#pragma GCC unroll 4
        for (Floats& weight : weights[r]) weight = V::mul(weight, scale);
      }
    }
    const char* ahead = fetched<V, kElement>(x, row, h, shape);
    for_channels<DecodeFloats<V, kElement>, kRows>(0, depth, shape, ahead, [&](std::int64_t k, auto count) noexcept {
      Floats sums[kDecodeLanes];
#pragma GCC unroll 4
      for (int lane = 0; lane < kDecodeLanes; ++lane) sums[lane] = V::load(out + lane * depth + k, count);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Floats of_a = load_as_floats<V, kElement>(a + r * step, k, count);
#pragma GCC unroll 4
        for (int lane = 0; lane < kDecodeLanes; ++lane) sums[lane] = V::fma(of_a, weights[r][lane], sums[lane]);
      }
#pragma GCC unroll 4
      for (int lane = 0; lane < kDecodeLanes; ++lane) V::store(out + lane * depth + k, sums[lane], count);
    });
  });
}

template <class V, auto kElement, class Scales = Unscaled>
void decode_weighted_of(const DecodeLanes& x, Scales scales = {}) noexcept {
  if (x.scale != nullptr) scale_rows<V>(x);
  with_shape<V, kElement, false>(
      x, [&](const auto& shape) noexcept { decode_weighted_in<V, kElement>(x, shape, scales); });
}

// RoPE on load or not, and its pairing, chosen once a call.
template <class Factors, class Scales = Unscaled>
void decode_dots_of_floats(const DecodeLanes& x, Scales scales = {}) noexcept {
  if (x.rotation.cos == nullptr) return decode_dots_of<Factors, PairsOnLoad::none>(x, x.b, scales);
  if (x.rotation.interleaved) return decode_dots_of<Factors, PairsOnLoad::interleaved>(x, x.b, scales);
  decode_dots_of<Factors, PairsOnLoad::half>(x, x.b, scales);
}

// AttentionKernels::decode_dots: QK^T of decode, from a KV cache of f32, f16 or bf16.
template <class V>
void decode_dots(const DecodeLanes& x) noexcept {
  switch (x.element) {
    case Element::f32: return decode_dots_of_floats<DecodeFloats<V, Element::f32>>(x);
    case Element::f16: return decode_dots_of_floats<DecodeFloats<V, Element::f16>>(x);
    case Element::bf16: return decode_dots_of_floats<DecodeFloats<V, Element::bf16>>(x);
  }
}

// AttentionKernels::decode_weighted: PV of decode, likewise.
template <class V>
void decode_weighted(const DecodeLanes& x) noexcept {
  switch (x.element) {
    case Element::f32: return decode_weighted_of<V, Element::f32>(x);
    case Element::f16: return decode_weighted_of<V, Element::f16>(x);
    case Element::bf16: return decode_weighted_of<V, Element::bf16>(x);
  }
}

}  // namespace posenc::kernels
