// The slow truth in double: the input stage, and rotations in the four forms in which the field writes them.
//
// Each form turns one head x [head_dim] by angles [dim/2] (radians) and returns a new vector; channels outside the
// rotated part are copied. They share no table and no code with the kernels. All four are equal to rounding:
//
//   matrix       R x with the block-diagonal matrix R written out                         RoFormer (15), (34)
//   complex      (x_a + i x_b) e^(i t)                                                     Meta's form
//   pairwise     (a cos t - b sin t, a sin t + b cos t) per pair                           GPT-J's form
//   rotate_half  x * cos + rotate_half(x) * sin, cos and sin repeated over both halves     Hugging Face's form
//
// Formulas: src/math/rope/rotation.h.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "posenc/cache.h"
#include "posenc/export.h"
#include "posenc/input.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2::reference {

// Throws Error when x.size() is not layout.head_dim, angles.size() is not dim/2, or the layout is malformed.
POSENC_API std::vector<double> rotate_matrix(const RotaryLayout& layout, std::span<const double> x,
                                             std::span<const double> angles);
POSENC_API std::vector<double> rotate_complex(const RotaryLayout& layout, std::span<const double> x,
                                              std::span<const double> angles);
POSENC_API std::vector<double> rotate_pairwise(const RotaryLayout& layout, std::span<const double> x,
                                               std::span<const double> angles);
POSENC_API std::vector<double> rotate_half(const RotaryLayout& layout, std::span<const double> x,
                                           std::span<const double> angles);

// The rotation of whole tensors, element by element: rotate (rotate.h) without its tables and kernels.
//
//   out = factor * R(i) x_i      angles as real numbers, reduced below 1e-15 radians of the truth up to 2^53 (exact);
//   or
//                                in the float steps that Angles::float32 and bfloat16 stand for
struct RotateArgs {
  TensorView out;         // f64, the shape of x
  ConstTensorView x;      // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim], any dtype
  Positions positions{};  // as in posenc::RotateArgs
  Direction direction = Direction::forward;
  std::optional<std::int64_t> length{};  // of the sequences, for rules that depend on it
  Angles angles = Angles::exact;
  std::span<const std::int32_t> cu_seqlens{};
  std::function<bool()> keep_going{};  // asked before each token: false ends the call early
};

// Throws Error for a tensor or positions that do not fit. False where keep_going returned false: some tokens are turned
// then.
[[nodiscard]] POSENC_API bool rotate(const Rope& rope, const RotateArgs& args);

// The input stage: what a position adds to embeddings, or multiplies them by (input.h).
//
//   out_i = (m x_i + token type's row) + p_i      or (m x_i + token type's row) * p_i
struct InputArgs {
  TensorView out{};                             // f64 [tokens, channels]
  ConstTensorView x{};                          // of that shape, any dtype; may be out
  Positions positions{};                        // one axis: the tokens' places (input.h)
  std::span<const std::int64_t> token_types{};  // [tokens], for tables of them; empty: none are added
  std::optional<std::int64_t> length{};         // by which normalised integers are divided; left out: the tokens
};

// Throws Error, before anything is written, for tensors that do not fit, a place or a token type beyond its table, and
// a table that is missing: token types of a scheme that has them, a learned scale.
POSENC_API void add_input(const LearnedInput& scheme, const LearnedInputWeights& weights, const InputArgs& args);
POSENC_API void add_input(const SinusoidalInput& scheme, const SinusoidalInputWeights& weights, const InputArgs& args);
POSENC_API void add_input(const IntegerInput& scheme, const InputArgs& args);
POSENC_API void add_input(const BinaryInput& scheme, const InputArgs& args);

// The norm of keys (cache.h) that posenc::rotate_into_cache puts beside the rotation. out: f64, the shape of x,
// [tokens, heads, head_dim] or [batch, heads, tokens, head_dim] of any dtype. Throws Error for a tensor that does not
// fit.
POSENC_API void normalise(const TensorView& out, const ConstTensorView& x, const KeyNorm& norm);

// The element of a view at these indices, as a double. Throws Error for an index outside the shape.
POSENC_API double element(ConstTensorView view, std::initializer_list<std::int64_t> indices);

// The block-diagonal matrix itself, row-major [head_dim, head_dim].
POSENC_API std::vector<double> rotation_matrix(const RotaryLayout& layout, std::span<const double> angles);

}  // namespace posenc::inline v0_2::reference
