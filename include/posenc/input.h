// The input stage in double: rows of the fixed encodings, tables that grow, and the places of the tokens of a padded
// sequence.
//
//   sinusoidal   sines and cosines of place * w_p         arXiv 1706.03762, 3.5       src/math/input/sinusoid.cpp
//   integer      the place in every channel, or place / length                        src/math/input/integer.cpp
//   binary       the place's bits                                                     src/math/input/binary.cpp
//   axis_sines   sines of each coordinate side by side      arXiv 2005.12872          src/math/input/axis_sines.cpp
//
// A place is where a token stands, 0 for the first; a scheme's `offset` is added to it here. reference::add_input
// (reference.h) takes these rows, or those of learned tables, and puts them into the embeddings.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "posenc/export.h"
#include "posenc/schemes.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// ---- What is learned ----

struct LearnedInputWeights {
  ConstTensorView positions{};    // [rows, channels]
  ConstTensorView token_types{};  // [types, channels]; GPT: the word table; omitted: no segments
};

struct SinusoidalInputWeights {
  std::optional<double> scale{};  // for learned_scale
};

// ---- One row p_i of a fixed encoding, [channels]. A learned scale is not in it. ----

// A place may be any finite number up to 2^53. Throws Error for a place beyond the table, if it has an end, and for a
// number of channels that the convention does not have. The padding row of Tensor2Tensor's convention, at place -1
// where there is an offset, is 0. Off by at most 2^-49 of the
// angle (13 roundings: 10 in w_p's exponent, 3 in its power and the product) and 1 ulp.
POSENC_API std::vector<double> input_row(const SinusoidalInput& scheme, std::int64_t channels, double place);

// Throws Error for a normalised scheme without a length of at least 1.
POSENC_API std::vector<double> input_row(const IntegerInput& scheme, std::int64_t channels, double place,
                                         std::optional<std::int64_t> length = {});

// Throws Error for place + offset below 0 or beyond 2^channels - 1.
POSENC_API std::vector<double> input_row(const BinaryInput& scheme, std::int64_t channels, std::int64_t place);

// Of a place with a coordinate for each of the scheme's axes: a cell's row and column from 0, or a box' numbers, 0
// to 1. `lengths`: cells along each axis, for a normalised scheme. A learned map is not in it. Throws Error for
// channels that are not a multiple of twice the axes, for another number of coordinates or lengths, and for ones that
// are not finite or, of lengths, not above 0.
POSENC_API std::vector<double> input_row(const AxisSinesInput& scheme, std::int64_t channels,
                                         std::span<const double> coordinates, std::span<const double> lengths = {});

// ---- Places ----

// The places of tokens behind a mask: the n-th token that counts (mask not 0) stands at past + n, n from 0; the others
// get `masked`. With a table's offset added, the default gives
//   OPT: (cumsum(mask) * mask - 1) + 2; RoBERTa and kin: cumsum(mask) * mask + padding_idx, offset padding_idx + 1.
// masked 0 is BLOOM's k_pos = (cumsum(mask) - 1) * mask; masked 1 is what transformers' generate() gives to decoders.
// RoBERTa's mask is "the token is not padding_idx", not the attention mask. `past`: tokens that counted before, in a
// cache. Throws Error for a past below 0.
POSENC_API std::vector<std::int64_t> places(std::span<const std::uint8_t> mask, std::int64_t past = 0,
                                            std::int64_t masked = -1);

// ---- Learned tables of another size ----

// Where new row n of N stands among the old rows: at (n + 1/2) rows / (N + scale_offset) - 1/2; with align_corners at
// n (rows - 1) / (N - 1), the first on the first and the last on the last (Qwen3-VL), without any scale_offset.
struct RowPlaces {
  bool align_corners = false;
  double scale_offset = 0.0;  // 0.1 in Meta's DINOv2, which so samples a little nearer to the first row
};

// A table [rows, channels] stretched to new_rows by linear interpolation, as torch's interpolate(mode="linear"): places
// are cut off at the first and last row. Rows that stand for no position (padding, an offset's) must be removed before
// and put back after. Throws Error for a size below 1, a table of another size, and a scale_offset that is negative,
// not finite or beside align_corners.
POSENC_API std::vector<double> grow_table(std::span<const double> table, std::int64_t rows, std::int64_t channels,
                                          std::int64_t new_rows, const RowPlaces& places = {});

struct TableGrid {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// torch's interpolate(mode="bicubic"), whose two values of `antialias` are two kernels:
//   plain      a = -0.75, four neighbours, the border's rows repeated
//   antialias  a = -0.5 (Pillow's), the kernel cut off at the border and made to sum to 1; widened where a grid shrinks
enum class Bicubic : std::uint8_t { plain, antialias };

// A table [height, width, channels] stretched to another grid (ViT). Rows of class or register tokens are no part of
// it. Throws Error as above, and for align_corners with antialias, where torch widens the kernel about other centres.
POSENC_API std::vector<double> grow_table(std::span<const double> table, TableGrid from, std::int64_t channels,
                                          TableGrid to, Bicubic kernel, const RowPlaces& places = {});

}  // namespace posenc::inline v0_2
