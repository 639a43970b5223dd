// Floats to the codes of a quantised KV cache (codes.h). Plain loops, compiled once per instruction set: every
// operation is rounded once, none is fused, so that all instruction sets give the same bits.
//
//   int8, int4      scale = max|x| / 127, or / 7        code = x / scale, to nearest, ties to even
//   uint8, uint4    zero = min x,  scale = (max x - zero) / 255, or / 15        code = (x - zero) / scale likewise
//   e4m3, e5m2      scale = max|x| / 448, or / 57344, or fixed        code = x / scale likewise, saturating
//   q8_0 ...        as ggml's quantize_row_q8_0_ref, _q4_0_ref and _q5_1_ref have them, bit for bit (of finite numbers)
//
// A row whose numbers lie within 2^-100 of 0, or of each other where there is a zero, has the scale 0.
#pragma once

#include "kernels/codes/codes.h"
#include "kernels/isa/floats_scalar.h"

namespace posenc::kernels {
// NOLINTBEGIN(misc-definitions-in-headers): one for each instruction set is what is wanted
namespace {  // no function of these may leave the object

constexpr float kNoScale = 0x1p-100F;
constexpr std::uint32_t kInfinityBits = 0x7F800000;

constexpr std::uint32_t bits_of(float x) noexcept { return __builtin_bit_cast(std::uint32_t, x); }
constexpr float float_of(std::uint32_t bits) noexcept { return __builtin_bit_cast(float, bits); }

// The least and the most of a type of codes, as floats.
struct CodeRange {
  float low;
  float high;
};

// The nearest whole number within the range, ties to even, and the least one for NaN. Below 2^22 a float beside 1.5
// 2^23 has no fraction, and that number's bits are the whole number's.
std::int32_t nearest(float x, CodeRange range) noexcept {
  constexpr float kShift = 0x1.8p23F;
  x = x > range.low ? x : range.low;
  x = x < range.high ? x : range.high;
  return static_cast<std::int32_t>(bits_of(x + kShift) - bits_of(kShift));
}

// A float to a type of 8 bits with kMantissa bits of mantissa: to nearest, ties to even, at most `most`; NaN is 0x7F
// with its sign. Below the least normal number, 2^(1 - bias), the distance of two is 2^(1 - bias - kMantissa), as that
// of floats from 2^(24 - bias - kMantissa) on.
template <std::uint32_t kMantissa, std::uint32_t kBias>
std::uint8_t to_f8(float x, float most) noexcept {
  constexpr std::uint32_t kDropped = 23 - kMantissa;
  constexpr float kLeast = float_of((127 + 1 - kBias) << 23U);
  constexpr float kBeside = float_of((127 + 24 - kBias - kMantissa) << 23U);
  const std::uint32_t sign = bits_of(x) >> 24U & 0x80U;
  const std::uint32_t size = bits_of(x) & 0x7FFFFFFFU;
  float magnitude = float_of(size);
  magnitude = magnitude < most ? magnitude : most;
  const std::uint32_t bits = bits_of(magnitude);
  const std::uint32_t normal =
      (bits + (1U << (kDropped - 1)) - 1U + (bits >> kDropped & 1U) - ((127U - kBias) << 23U)) >> kDropped;
  const std::uint32_t small = bits_of(magnitude + kBeside) - bits_of(kBeside);
  const std::uint32_t code = magnitude < kLeast ? small : normal;
  return static_cast<std::uint8_t>(sign | (size > kInfinityBits ? 0x7FU : code));
}
std::uint8_t to_e4m3(float x) noexcept { return to_f8<3, 7>(x, 448.0F); }
std::uint8_t to_e5m2(float x) noexcept { return to_f8<2, 15>(x, 57344.0F); }

// The largest magnitude; what is not finite is more than all that is.
std::uint32_t largest_bits(const float* x, std::int64_t count) noexcept {
  std::int32_t out = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto own = static_cast<std::int32_t>(bits_of(x[i]) & 0x7FFFFFFFU);
    out = own > out ? own : out;
  }
  return static_cast<std::uint32_t>(out);
}

// Of a row with zero 0 and `largest` for the code `most`: NaN where it holds what is not finite.
float scale_of(std::uint32_t largest, float most) noexcept {
  if (largest >= kInfinityBits) return float_of(kInfinityBits | 0x400000U);
  return float_of(largest) < kNoScale ? 0.0F : float_of(largest) / most;
}
// Divisors are not 0: what is divided then is 0, or next to it.
float divisor_of(float scale) noexcept { return scale == 0.0F ? 1.0F : scale; }

// code(i) for each channel, in pairs: two in a byte.
template <class Code>
void store_halves(std::uint8_t* to, std::int64_t count, const Code& code) noexcept {
  for (std::int64_t i = 0; i + 1 < count; i += 2) {
    const std::uint32_t low = static_cast<std::uint32_t>(code(i)) & 15U;
    to[i / 2] = static_cast<std::uint8_t>(low | (static_cast<std::uint32_t>(code(i + 1)) & 15U) << 4U);
  }
}

constexpr CodeRange range_of(Codes codes) noexcept {
  return codes == Codes::int8    ? CodeRange{-127.0F, 127.0F}
         : codes == Codes::uint8 ? CodeRange{0.0F, 255.0F}
         : codes == Codes::int4  ? CodeRange{-7.0F, 7.0F}
                                 : CodeRange{0.0F, 15.0F};
}

// Codes of (x - zero) / scale, in whole numbers.
template <Codes kCodes>
void store_whole(const float* x, std::int64_t count, float scale, float zero, std::uint8_t* to) noexcept {
  constexpr CodeRange kRange = range_of(kCodes);
  const float divisor = divisor_of(scale);
  const auto code = [=](std::int64_t i) noexcept { return nearest((x[i] - zero) / divisor, kRange); };
  if constexpr (kCodes == Codes::int4 || kCodes == Codes::uint4) return store_halves(to, count, code);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(code(i));
}

// The least and the greatest number of a row, in the order of their bits, -0 before 0.
struct Span {
  float low;
  float high;
};
Span span_of(const float* x, std::int64_t count) noexcept {
  const auto flipped = [](std::int32_t bits) noexcept { return bits ^ (bits >> 31 & 0x7FFFFFFF); };
  std::int32_t low = 0x7FFFFFFF;
  std::int32_t high = -0x7FFFFFFF - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t own = flipped(__builtin_bit_cast(std::int32_t, x[i]));
    low = own < low ? own : low;
    high = own > high ? own : high;
  }
  return {__builtin_bit_cast(float, flipped(low)), __builtin_bit_cast(float, flipped(high))};
}

// Of what spans so much; NaN where that is not finite, and 0 where it is nothing.
float scale_of_span(float span, float most) noexcept {
  if (!(span < float_of(kInfinityBits))) return float_of(kInfinityBits | 0x400000U);
  return span < kNoScale ? 0.0F : span / most;
}

template <Codes kCodes>
void encode_row(const EncodeRows& x, std::int64_t r) noexcept {
  const float* const from = x.from + r * x.from_row;
  auto* const to = static_cast<std::uint8_t*>(x.to) + r * x.to_row;
  if constexpr (kCodes == Codes::e4m3 || kCodes == Codes::e5m2) {
    constexpr bool kFour = kCodes == Codes::e4m3;
    float scale = x.fixed_scale;
    if (x.scale != nullptr) {
      scale = scale_of(largest_bits(from, x.count), kFour ? 448.0F : 57344.0F);
      x.scale[r * x.scale_row] = scale;
    }
    const float divisor = divisor_of(scale);
    for (std::int64_t i = 0; i < x.count; ++i) to[i] = kFour ? to_e4m3(from[i] / divisor) : to_e5m2(from[i] / divisor);
  } else if constexpr (kCodes == Codes::uint8 || kCodes == Codes::uint4) {
    const Span span = span_of(from, x.count);
    const float scale = scale_of_span(span.high - span.low, range_of(kCodes).high);
    x.scale[r * x.scale_row] = scale;
    x.zero[r * x.zero_row] = span.low;
    store_whole<kCodes>(from, x.count, scale, span.low, to);
  } else {
    const float scale = scale_of(largest_bits(from, x.count), range_of(kCodes).high);
    x.scale[r * x.scale_row] = scale;
    store_whole<kCodes>(from, x.count, scale, 0.0F, to);
  }
}

void store_f16(std::uint8_t* to, float x) noexcept {
  std::uint16_t f16 = 0;
  ScalarFloats::store_f16(&f16, ScalarFloats::all(x), Some{1});
  __builtin_memcpy(to, &f16, sizeof f16);
}
float as_f16(float x) noexcept {
  std::uint16_t f16 = 0;
  ScalarFloats::store_f16(&f16, ScalarFloats::all(x), Some{1});
  return ScalarFloats::load_f16(&f16, Some{1}).lane[0];
}
float inverse_of(float d) noexcept { return d != 0.0F ? 1.0F / d : 0.0F; }

// The whole part of x within -128 .. 255, towards 0, and 0 for NaN.
std::int32_t whole_part(float x) noexcept {
  x = x > -128.0F ? x : x == x ? -128.0F : 0.0F;
  return static_cast<std::int32_t>(x < 255.0F ? x : 255.0F);
}

// C's roundf: ties away from 0.
std::int32_t rounded_away(float x) noexcept {
  x = x > -127.0F ? x : x == x ? -127.0F : 0.0F;
  x = x < 127.0F ? x : 127.0F;
  const auto whole = static_cast<std::int32_t>(x);
  const float rest = x - static_cast<float>(whole);
  return whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0);
}

void encode_q8_0(const float* x, std::uint8_t* to) noexcept {
  const float d = float_of(largest_bits(x, kBlockChannels)) / 127.0F;
  const float id = inverse_of(d);
  store_f16(to, d);
  for (std::int64_t i = 0; i < kBlockChannels; ++i) to[2 + i] = static_cast<std::uint8_t>(rounded_away(x[i] * id));
}

// The first number of the largest magnitude becomes -8.
void encode_q4_0(const float* x, std::uint8_t* to) noexcept {
  const std::uint32_t largest = largest_bits(x, kBlockChannels);
  std::int64_t first = 0;
  while ((bits_of(x[first]) & 0x7FFFFFFFU) != largest) ++first;
  const float d = (largest == 0 ? 0.0F : x[first]) / -8.0F;
  const float id = inverse_of(d);
  const auto half = [=](std::int64_t i) noexcept {
    const std::int32_t code = whole_part(x[i] * id + 8.5F);
    return static_cast<std::uint32_t>(code < 15 ? code : 15) & 15U;
  };
  store_f16(to, d);
  for (std::int64_t j = 0; j < 16; ++j) to[2 + j] = static_cast<std::uint8_t>(half(j) | half(j + 16) << 4U);
}

void encode_q5_1(const float* x, std::uint8_t* to) noexcept {
  float low = x[0];
  float high = x[0];
  for (std::int64_t i = 1; i < kBlockChannels; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const float d = (high - low) / 31.0F;
  const float id = inverse_of(d);
  store_f16(to, d);
  store_f16(to + 2, low);
  const auto code = [=](std::int64_t i) noexcept {
    return static_cast<std::uint32_t>(whole_part((x[i] - low) * id + 0.5F));
  };
  std::uint32_t fifths = 0;
  for (std::int64_t j = 0; j < 16; ++j) {
    const std::uint32_t first = code(j);
    const std::uint32_t second = code(j + 16);
    to[8 + j] = static_cast<std::uint8_t>((first & 15U) | (second & 15U) << 4U);
    fifths |= (first >> 4U & 1U) << static_cast<unsigned>(j) | (second >> 4U & 1U) << static_cast<unsigned>(j + 16);
  }
  __builtin_memcpy(to + 4, &fifths, sizeof fifths);
}

template <class Encode>
void encode_blocks(const EncodeRows& x, std::int64_t bytes, const Encode& encode) noexcept {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    auto* const to = static_cast<std::uint8_t*>(x.to) + r * x.to_row;
    for (std::int64_t n = 0; n < x.count / kBlockChannels; ++n) {
      encode(x.from + r * x.from_row + n * kBlockChannels, to + n * bytes);
    }
  }
}

template <Codes kCodes>
void encode_rows_of(const EncodeRows& x) noexcept {
  for (std::int64_t r = 0; r < x.rows; ++r) encode_row<kCodes>(x, r);
}

// CodeKernels::encode.
void encode_rows(const EncodeRows& x) noexcept {
  switch (x.codes) {
    case Codes::int8: return encode_rows_of<Codes::int8>(x);
    case Codes::uint8: return encode_rows_of<Codes::uint8>(x);
    case Codes::int4: return encode_rows_of<Codes::int4>(x);
    case Codes::uint4: return encode_rows_of<Codes::uint4>(x);
    case Codes::e4m3: return encode_rows_of<Codes::e4m3>(x);
    case Codes::e5m2: return encode_rows_of<Codes::e5m2>(x);
    case Codes::q8_0: return encode_blocks(x, kQ80Bytes, encode_q8_0);
    case Codes::q4_0: return encode_blocks(x, kQ40Bytes, encode_q4_0);
    case Codes::q5_1: return encode_blocks(x, kQ51Bytes, encode_q5_1);
  }
}

// CodeKernels::encode_channels. `zero` and `scale` hold the least and the greatest number first; NaN stays.
void encode_channels(const EncodeChannels& x) noexcept {
  float* const low = x.zero;
  float* const high = x.scale;
  for (std::int64_t c = 0; c < x.count; ++c) low[c] = high[c] = x.from[c];
  for (std::int64_t r = 1; r < x.rows; ++r) {
    const float* const from = x.from + r * x.from_row;
    for (std::int64_t c = 0; c < x.count; ++c) {
      low[c] = from[c] >= low[c] || low[c] != low[c] ? low[c] : from[c];
      high[c] = from[c] <= high[c] || high[c] != high[c] ? high[c] : from[c];
    }
  }
  for (std::int64_t c = 0; c < x.count; ++c) {
    x.scale[c] = scale_of_span(high[c] - low[c], 15.0F);
    if (!x.rounds_to_f16) continue;
    x.scale[c] = as_f16(x.scale[c]);
    x.zero[c] = as_f16(x.zero[c]);
  }
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* const from = x.from + r * x.from_row;
    store_halves(static_cast<std::uint8_t*>(x.to) + r * x.to_row, x.count, [&](std::int64_t c) noexcept {
      return nearest((from[c] - x.zero[c]) / divisor_of(x.scale[c]), range_of(Codes::uint4));
    });
  }
}

}  // namespace
// NOLINTEND(misc-definitions-in-headers)
}  // namespace posenc::kernels
