// The interface of the kernels for quantised KV caches: codes of a head's channels, and what turns them into numbers.
//
//   CodeRows      codes to floats, and floats to codes                    code_loop.h, encode_loop.h
//   DecodeCodes   QK^T and PV of decode straight from codes               code_loop.h, around decode_loop.h
//
// A number is scale * code + zero. Of plain codes scale and zero stand elsewhere; blocks (ggml's) carry their own:
//
//   int8, uint8    a byte a channel
//   int4, uint4    two channels a byte, the even one in the lower half (as ONNX packs them)
//   e4m3, e5m2     a byte a channel: E4M3FN and E5M2 of arXiv 2209.05433
//   q8_0           32 channels in 34 bytes: f16 d, then 32 int8 q;                       x = d q
//   q4_0           32 channels in 18 bytes: f16 d, then 16 bytes of halves q;            x = d (q - 8)
//   q5_1           32 channels in 24 bytes: f16 d, f16 m, 32 fifth bits, 16 bytes of halves q;      x = d q + m
//
// In q4_0 and q5_1 byte j of the halves has channel j in its lower half and channel j + 16 in its upper one.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace posenc::kernels {

enum class Codes : std::uint8_t { int8, uint8, int4, uint4, e4m3, e5m2, q8_0, q4_0, q5_1 };

constexpr std::int64_t kBlockChannels = 32;
constexpr std::int64_t kQ80Bytes = 34;
constexpr std::int64_t kQ40Bytes = 18;
constexpr std::int64_t kQ51Bytes = 24;

// Rows of `count` channels, read (to floats) or written (from floats). One scale and zero for each row of plain codes.
struct CodeRows {
  Codes codes = Codes::int8;
  std::int64_t rows = 0;
  std::int64_t count = 0;
  const void* from = nullptr;
  std::int64_t from_row = 0;  // in bytes of codes, or in floats
  void* to = nullptr;
  std::int64_t to_row = 0;       // likewise
  const float* scale = nullptr;  // of row r at scale[r scale_row]; null: 1
  std::int64_t scale_row = 0;
  const float* zero = nullptr;  // likewise; null: 0
  std::int64_t zero_row = 0;
};

// Rows whose channels have a scale and a zero each, f32 or f16: [count] of `element`.
struct ChannelCodeRows {
  Codes codes = Codes::uint4;
  std::int64_t rows = 0;
  std::int64_t count = 0;
  const void* from = nullptr;
  std::int64_t from_row = 0;
  float* to = nullptr;
  std::int64_t to_row = 0;
  Element element = Element::f16;
  const void* scale = nullptr;
  const void* zero = nullptr;
};

// Floats to codes, with the scales and zeros that they are found to need; fixed_scale is used for all instead where
// `scale` is null. Rows of plain codes with a number that is not finite have a scale of NaN.
struct EncodeRows {
  Codes codes = Codes::int8;
  std::int64_t rows = 0;
  std::int64_t count = 0;
  const float* from = nullptr;
  std::int64_t from_row = 0;
  void* to = nullptr;
  std::int64_t to_row = 0;  // in bytes
  float* scale = nullptr;   // of row r at scale[r scale_row]
  std::int64_t scale_row = 0;
  float* zero = nullptr;  // of uint8 and uint4
  std::int64_t zero_row = 0;
  float fixed_scale = 1.0F;
};

// One scale and zero for each channel of `rows` rows, uint4. They are rounded to f16 where `element` is, and the codes
// are those of the rounded ones.
struct EncodeChannels {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  const float* from = nullptr;
  std::int64_t from_row = 0;
  void* to = nullptr;
  std::int64_t to_row = 0;     // in bytes
  float* scale = nullptr;      // [count], written
  float* zero = nullptr;       // likewise
  bool rounds_to_f16 = false;  // what is written to scale and zero are numbers of f16
};

// DecodeLanes whose a_row and a_head are in bytes. Scales of plain codes, of row r and head h at scale[r scale_row + h
// scale_head], or null where all are fixed_scale; zeros likewise, of values alone.
struct DecodeCodes {
  DecodeLanes of;
  Codes codes = Codes::int8;
  const float* scale = nullptr;
  std::int64_t scale_row = 0;
  std::int64_t scale_head = 0;
  const float* zero = nullptr;
  std::int64_t zero_row = 0;
  std::int64_t zero_head = 0;
  float fixed_scale = 1.0F;
};

struct CodeKernels {
  void (*decode)(const CodeRows& x) noexcept;
  void (*decode_channels)(const ChannelCodeRows& x) noexcept;
  void (*encode)(const EncodeRows& x) noexcept;
  void (*encode_channels)(const EncodeChannels& x) noexcept;
  void (*decode_dots)(const DecodeCodes& x) noexcept;  // null, as the next, in the scalar kernels, which have no decode
  void (*decode_weighted)(const DecodeCodes& x) noexcept;
};

// NOLINTBEGIN(readability-identifier-naming): named as attention_scalar and the others are
extern const CodeKernels codes_scalar;
extern const CodeKernels codes_avx2;
extern const CodeKernels codes_avx512;
extern const CodeKernels codes_neon;
// NOLINTEND(readability-identifier-naming)

}  // namespace posenc::kernels
