// Quantised KV caches (codes.h): codes to floats, and QK^T and PV of decode straight from codes, by the loops of
// decode_loop.h. Written once over a vector of floats V that loads codes (isa/codes_avx2.h), compiled once per
// instruction set.
//
// Plain codes are multiplied as they are, and their scales come after, one multiplication for four scores, or before,
// one for a register of a weight; both in registers, where they cost less than in a pass of their own (a twelfth of
// decode on int8):
//
//   c[r][l]   = scale[r][h] sum_k code[r][k] b[l][k]                        rotated on load or not: rotations are
//   linear out[l][k] = sum_r code[r][k] (scale[r][h] p[r][l])  +  sum_r zero[r][h] p[r][l]
//
// Blocks have several scales a row, and are multiplied as numbers.
#pragma once

#include "kernels/codes/codes.h"
#include "kernels/codes/encode_loop.h"
#include "kernels/decode_loop.h"

namespace posenc::kernels {

// Calls run<kCodes>() of the codes.
template <class Run>
void with_codes(Codes codes, const Run& run) noexcept {
  switch (codes) {
    case Codes::int8: return run.template operator()<Codes::int8>();
    case Codes::uint8: return run.template operator()<Codes::uint8>();
    case Codes::int4: return run.template operator()<Codes::int4>();
    case Codes::uint4: return run.template operator()<Codes::uint4>();
    case Codes::e4m3: return run.template operator()<Codes::e4m3>();
    case Codes::e5m2: return run.template operator()<Codes::e5m2>();
    case Codes::q8_0: return run.template operator()<Codes::q8_0>();
    case Codes::q4_0: return run.template operator()<Codes::q4_0>();
    case Codes::q5_1: return run.template operator()<Codes::q5_1>();
  }
}

// step(i, count) for registers of `count` channels.
template <class V, class Step>
void for_registers(std::int64_t count, const Step& step) noexcept {
  std::int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) step(i, All{});
  if (i < count) step(i, Some{count - i});
}

// CodeKernels::decode.
template <class V>
void decode_rows(const CodeRows& x) noexcept {
  with_codes(x.codes, [&]<Codes kCodes>() noexcept {
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const char* const from = static_cast<const char*>(x.from) + r * x.from_row;
      float* const to = static_cast<float*>(x.to) + r * x.to_row;
      if constexpr (are_blocks(kCodes)) {
        for_registers<V>(x.count, [&](std::int64_t i, auto count) noexcept {
          V::store(to + i, load_as_floats<V, kCodes>(from, i, count), count);
        });
      } else {
        const typename V::Floats scale = V::all(x.scale == nullptr ? 1.0F : x.scale[r * x.scale_row]);
        const typename V::Floats zero = V::all(x.zero == nullptr ? 0.0F : x.zero[r * x.zero_row]);
        for_registers<V>(x.count, [&](std::int64_t i, auto count) noexcept {
          V::store(to + i, V::fma(load_as_floats<V, kCodes>(from, i, count), scale, zero), count);
        });
      }
    }
  });
}

// CodeKernels::decode_channels: scales and zeros of a register are read once for all rows.
template <class V, Element kElement>
void decode_channel_rows_of(const ChannelCodeRows& x) noexcept {
  for_registers<V>(x.count, [&](std::int64_t i, auto count) noexcept {
    const typename V::Floats scale = load_as_floats<V, kElement>(x.scale, i, count);
    const typename V::Floats zero = load_as_floats<V, kElement>(x.zero, i, count);
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const char* const from = static_cast<const char*>(x.from) + r * x.from_row;
      V::store(x.to + r * x.to_row + i, V::fma(load_as_floats<V, Codes::uint4>(from, i, count), scale, zero), count);
    }
  });
}
template <class V>
void decode_channel_rows(const ChannelCodeRows& x) noexcept {
  if (x.element == Element::f16) return decode_channel_rows_of<V, Element::f16>(x);
  decode_channel_rows_of<V, Element::f32>(x);
}

template <class V>
RowScales scales_of(const DecodeCodes& x) noexcept {
  if (x.scale == nullptr) return {&x.fixed_scale, 0, 0};
  return {x.scale, x.scale_row, x.scale_head};
}

// out[l] += sum_r zero[r][h] p[r][l], in all channels.
template <class V>
void add_zeros(const DecodeCodes& x) noexcept {
  const DecodeLanes& of = x.of;
  for (std::int64_t h = 0; h < of.heads; ++h) {
    for (std::int64_t l = h * of.each; l < (h + 1) * of.each; ++l) {
      float sum = 0.0F;
      for (std::int64_t r = 0; r < of.rows; ++r)
        sum += x.zero[r * x.zero_row + h * x.zero_head] * of.p[r * of.lanes + l];
      float* const out = of.out + l * of.depth;
      for_registers<V>(of.depth, [&](std::int64_t k, auto count) noexcept {
        V::store(out + k, V::add(V::load(out + k, count), V::all(sum)), count);
      });
    }
  }
}

// CodeKernels::decode_dots.
template <class V>
void decode_dots_of_codes(const DecodeCodes& x) noexcept {
  with_codes(x.codes, [&]<Codes kCodes>() noexcept {
    if constexpr (kCodes != Codes::uint8 && kCodes != Codes::uint4) {  // those have zeros, and are values
      if constexpr (are_blocks(kCodes)) {
        decode_dots_of_floats<DecodeFloats<V, kCodes>>(x.of);
      } else {
        decode_dots_of_floats<DecodeFloats<V, kCodes>>(x.of, scales_of<V>(x));
      }
    }
  });
}

// CodeKernels::decode_weighted.
template <class V>
void decode_weighted_of_codes(const DecodeCodes& x) noexcept {
  with_codes(x.codes, [&]<Codes kCodes>() noexcept {
    if constexpr (are_blocks(kCodes)) {
      decode_weighted_of<V, kCodes>(x.of);
    } else {
      decode_weighted_of<V, kCodes>(x.of, scales_of<V>(x));
    }
    if (x.zero != nullptr) add_zeros<V>(x);
  });
}

// Of an instruction set that has no decode (attend's is_decode): codes become floats, tile by tile.
template <class V>
constexpr CodeKernels codes_of_tiles() noexcept {
  return {.decode = decode_rows<V>,
          .decode_channels = decode_channel_rows<V>,
          .encode = encode_rows,
          .encode_channels = encode_channels,
          .decode_dots = nullptr,
          .decode_weighted = nullptr};
}

template <class V>
constexpr CodeKernels codes() noexcept {
  CodeKernels out = codes_of_tiles<V>();
  out.decode_dots = decode_dots_of_codes<V>;
  out.decode_weighted = decode_weighted_of_codes<V>;
  return out;
}

}  // namespace posenc::kernels
