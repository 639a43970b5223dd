// Quantised KV caches: what a cache of fewer bits is made of, for rotate_into_cache, which writes it, and attend, which
// reads it as it is. Formats, error bounds and how engines use them: docs/quantised-cache.md.
//
//   x = scale * code + zero
//
// The formats' arithmetic: src/kernels/encode_loop.h and load_codes.h.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "posenc/export.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// How numbers are stored. `d` are the channels of a head; bytes are those of a head's row.
//
//   int8               d      -127 .. 127, a scale for each token and head
//   int8_asymmetric    d      0 .. 255, a scale and a zero for each token and head
//   int4               d/2    -7 .. 7, two's complement; channel 2 c in the lower half of byte c, 2 c + 1 in the upper
//                             one (as ONNX packs them); a scale for each token and head
//   int4_asymmetric    d/2    0 .. 15 likewise, a scale and a zero
//   fp8_e4m3           d      E4M3FN (arXiv 2209.05433, torch's float8_e4m3fn), a scale for each token and head, or one
//   fp8_e5m2           d      E5M2 likewise
//   q8_0               34 d/32   ggml's blocks of 32 channels, bit for bit; without other scales
//   q4_0               18 d/32
//   q5_1               24 d/32
//   int4_by_channel    d/2    as int4_asymmetric, but a scale and a zero for each channel and group of tokens (KIVI,
//                             arXiv 2402.02750): for keys, some of whose channels are much larger than others
enum class CacheFormat : std::uint8_t {
  int8,
  int8_asymmetric,
  int4,
  int4_asymmetric,
  fp8_e4m3,
  fp8_e5m2,
  q8_0,
  q4_0,
  q5_1,
  int4_by_channel
};

POSENC_API std::string_view name(CacheFormat format) noexcept;
// The format of that name, or none.
POSENC_API std::optional<CacheFormat> cache_format(std::string_view name) noexcept;

// Bytes of the codes of one head's row. Throws Error for channels that the format does not take: an odd number of 4-bit
// codes, blocks that are not whole.
POSENC_API std::int64_t cache_row_bytes(CacheFormat format, std::int64_t channels);

// A view of a quantised tensor of keys or values: its codes, and what makes numbers of them. The shape is that of the
// numbers, [rows, heads, channels], [batch, heads, tokens, channels] or, paged, [blocks, block_size, heads, channels].
template <typename Pointer>
struct BasicQuantisedView {
  CacheFormat format = CacheFormat::int8;
  Pointer data = nullptr;
  int rank = 0;  // 0: no tensor
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};  // in bytes; that of channels is not read
  // f32, of the shape without its last axis; of int4_by_channel f32 or f16, of the whole shape with groups instead of
  // tokens: [ceil(rows / group), heads, channels]. Omitted for ggml's blocks, and for fp8 with one scale.
  BasicTensorView<Pointer> scales{};
  BasicTensorView<Pointer> zeros{};  // likewise, of asymmetric formats
  float scale = 1.0F;                // fp8 without `scales`: of all codes
  std::int64_t group = 0;            // int4_by_channel: tokens of a group, as rows of the tensor, or of a block, go

  constexpr bool empty() const noexcept { return rank == 0; }
  constexpr operator BasicQuantisedView<const void*>() const noexcept {  // NOLINT: what may be written may be read
    return {format, data, rank, shape, strides, scales, zeros, scale, group};
  }
  bool operator==(const BasicQuantisedView&) const = default;
};

using QuantisedView = BasicQuantisedView<void*>;
using ConstQuantisedView = BasicQuantisedView<const void*>;

// A view of codes that lie one after another, the last axis fastest, without scales. Throws Error for a rank that is
// not 3 or 4, negative sizes, sizes whose product passes 2^63, and channels that the format does not take.
POSENC_API QuantisedView quantised(void* data, CacheFormat format, std::initializer_list<std::int64_t> shape);
POSENC_API ConstQuantisedView quantised(const void* data, CacheFormat format,
                                        std::initializer_list<std::int64_t> shape);

// Writes the numbers of x to `out`, f32 of its shape, each rounded once. `paged`: a tensor of rank 4 has pages, not a
// batch. Throws Error for a view that does not say what it is, or an `out` that does not fit.
POSENC_API void dequantise(const TensorView& out, const ConstQuantisedView& x, bool paged = false);

// Why cached keys in this format cannot be rotated again by rerotate, and what to do instead.
POSENC_API std::string rerotation_obstacle(CacheFormat format);

}  // namespace posenc::inline v0_2
