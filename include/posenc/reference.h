// The slow truth: rotations in double, in the four forms in which the field writes them.
//
// Each turns one head x [head_dim] by angles [dim/2] (radians) and returns a new vector; channels outside the
// rotated part are copied. They share no table and no code with the kernels. All four are equal to rounding:
//
//   matrix       R x with the block-diagonal matrix R written out                         RoFormer (15), (34)
//   complex      (x_a + i x_b) e^(i t)                                                     Meta's form
//   pairwise     (a cos t - b sin t, a sin t + b cos t) per pair                           GPT-J's form
//   rotate_half  x * cos + rotate_half(x) * sin, cos and sin repeated over both halves     Hugging Face's form
//
// Formulas: src/math/rotation.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "posenc/export.h"
#include "posenc/rotary_table.h"

namespace posenc::reference {

// Throws Error when x.size() is not layout.head_dim, angles.size() is not dim/2, or the layout is malformed.
POSENC_API std::vector<double> rotate_matrix(const RotaryLayout& layout, std::span<const double> x,
                                             std::span<const double> angles);
POSENC_API std::vector<double> rotate_complex(const RotaryLayout& layout, std::span<const double> x,
                                              std::span<const double> angles);
POSENC_API std::vector<double> rotate_pairwise(const RotaryLayout& layout, std::span<const double> x,
                                               std::span<const double> angles);
POSENC_API std::vector<double> rotate_half(const RotaryLayout& layout, std::span<const double> x,
                                           std::span<const double> angles);

// The block-diagonal matrix itself, row-major [head_dim, head_dim].
POSENC_API std::vector<double> rotation_matrix(const RotaryLayout& layout, std::span<const double> angles);

}  // namespace posenc::reference
