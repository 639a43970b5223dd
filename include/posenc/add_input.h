// The input stage: position rows added to embeddings, or multiplied with them, in place or into another tensor.
//
//   x_i -> (m x_i + token type's row) + p_i      or (m x_i + token type's row) * p_i
//
//   learned      p_i: row i + offset of a table; token types: rows of a second one     arXiv 1810.04805
//   sinusoidal   sines and cosines of place * w_p, times a learned scale               arXiv 1706.03762, 3.5
//   integer      the place in every channel, or place / length
//   binary       the place's bits
//   axis_sines   sines of each coordinate side by side                                 arXiv 2005.12872
//
// x of f32, f16 and bf16 is computed in f32, each of the (up to) three steps rounded, and rounded to its dtype once, to
// nearest, ties to even; m, rows of an f64 table and the numbers of a fixed encoding are rounded to f32 once. With
// u = 2^-24 the f32 result is within
//
//   2 u |m x| + u |m x + type| + |e_p| + u |result|  (times p: relatively, the last two add up)      and terms of u^2
//
// of the real number, where e_p, the error of p_i, is
//
//   learned                        0; of an f64 table u |p|
//   sinusoidal                     2^-53 |angle|, for the one rounding of w_p, and 1 ulp of f32 (docs/angles.md)
//   axis_sines                     2^-50 |angle|, for w_k and the coordinate's 4 roundings, and 1 ulp of f32
//   integer, binary                u |p|, 0
//
// x of f64 is computed in double, sines by the C library: the reference's arithmetic, not the fast one. A result
// depends on its row and, of sines, on the instruction set, not on neighbours, threads, the layout in memory, or
// whether rows are held.
//
// The float64 reference is reference::add_input (reference.h); kernels are src/kernels/input_loop.h and angles_loop.h.
//
// Thread safety: a prepared input does not change; calls that write different tensors may share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/input.h"
#include "posenc/parallel.h"
#include "posenc/rotate.h"
#include "posenc/schemes.h"
#include "posenc/tensor.h"

namespace posenc::cpu {
struct KeptInput;
struct KeptInputAccess;
}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

// What is learned of a scheme: of LearnedInput, of SinusoidalInput with a learned scale, of the others nothing.
using InputWeights = std::variant<std::monostate, LearnedInputWeights, SinusoidalInputWeights>;

struct PrepareInputOptions {
  std::int64_t channels = 0;  // of the embeddings; a learned table has its own, and 0 will do
  // Rows of positions start .. start + count - 1 are held, of sinusoidal inputs: of other schemes none need be. Other
  // positions are served too, by rows made in the call, the same bits.
  std::int64_t start = 0;
  std::int64_t count = 0;
  std::int64_t max_bytes = 1LL << 30;  // more held rows are refused with Error before anything is allocated
  Isa isa = Isa::automatic;            // that makes the rows
};

// A scheme ready for many calls: frequencies, and rows that are held. Learned tables are views: their memory stays the
// caller's, and must neither go nor change as long as calls are made. May be moved; one that has been moved from is
// refused.
class POSENC_API PreparedInput {
 public:
  const InputScheme& scheme() const;
  std::int64_t channels() const;
  std::int64_t axes() const;   // coordinates of a position: 1, but for axis_sines
  std::int64_t start() const;  // of the rows that are held
  std::int64_t count() const;
  std::int64_t bytes() const;  // of the rows that are held

  PreparedInput(PreparedInput&&) noexcept;
  PreparedInput& operator=(PreparedInput&&) noexcept;
  ~PreparedInput();

 private:
  friend struct cpu::KeptInputAccess;
  explicit PreparedInput(std::unique_ptr<const cpu::KeptInput> kept) noexcept;
  const cpu::KeptInput& kept() const;

  std::unique_ptr<const cpu::KeptInput> kept_;
};

// Throws Error for a scheme that is not in the list above (axial, tile, convolution, Fourier and perceptron inputs, and
// axis_sines that a learned map follows), for weights that do not fit it, and for options that do not.
POSENC_API PreparedInput prepare_input(const InputScheme& scheme, const InputWeights& weights,
                                       const PrepareInputOptions& options);

// Channels of a row are adjacent; rows and batch may have any strides.
struct AddInputArgs {
  TensorView x{};            // written: [tokens, channels] or [batch, tokens, channels]
  ConstTensorView x_from{};  // read instead of x: same dtype and shape, not overlapping x. Omitted: in place
  // Counted from 0: a scheme's offset is added to them. Lists are [axes, tokens], for every sequence of a batch, or
  // [axes, batch * tokens], tokens fastest. Those of learned tables and of bits are whole.
  Positions positions{};
  // For tables of them: [tokens], for every sequence of a batch, or [batch * tokens]. Empty: none are added.
  std::span<const std::int64_t> token_types{};
  // By which normalised integers are divided; omitted: the tokens of x (to be given with cu_seqlens).
  std::optional<std::int64_t> length{};
  std::span<const double> lengths{};  // of normalised axis_sines: cells along each axis
  // Packed sequences, rank 2 only: sequence s has the rows cu_seqlens[s] up to cu_seqlens[s + 1]. [sequences + 1]
  std::span<const std::int32_t> cu_seqlens{};

  Parallel parallel{};  // a call on few bytes stays on its thread
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in RotateArgs
};

// Throws Error, before anything is written, for a tensor that does not fit or overlaps a learned table, a position or a
// token type beyond its table, and what the scheme needs and is not given. False where keep_going returned false: some
// rows are done then. Nothing is taken from the heap, but for rows of more than 8192 channels that are made in the
// call, which are made on the calling thread alone.
[[nodiscard]] POSENC_API bool add_input(const PreparedInput& prepared, const AddInputArgs& args);

// Prepares for this one call. Of sinusoids that takes a power for each pair of channels: prepare_input once is faster.
[[nodiscard]] POSENC_API bool add_input(const InputScheme& scheme, const InputWeights& weights,
                                        const AddInputArgs& args);

// The gradients of add_input: with c = m x + token type's row, of a token whose output has the gradient d,
//
//   added       dx = m d,          d positions[row] += d,      d token_types[type] += d,        d scale += d . p /
//   scale multiplied  dx = m d p,        d positions[row] += d c,    d token_types[type] += d p,      likewise of d c
//
// A row of a table's gradient is the sum over its tokens in their order, in f32 over 64 of them and in double over
// those sums, rounded once: the same to the bit for any number of threads, and 0 where no token takes the row. A
// scale's is summed in double. dx is add_input's own arithmetic.
struct AddInputBackwardArgs {
  ConstTensorView d_out{};  // dL / d what add_input wrote: f32, f16 or bf16, of its shape; channels adjacent
  ConstTensorView x{};      // what add_input read, like d_out; only asked for where rows multiply and a table or scale
                            // has a gradient
  // As add_input was given them.
  Positions positions{};
  std::span<const std::int64_t> token_types{};
  std::optional<std::int64_t> length{};
  std::span<const double> lengths{};
  std::span<const std::int32_t> cu_seqlens{};

  // Written; each may be omitted.
  TensorView d_x{};          // dtype and shape of d_out, which it may be
  TensorView d_positions{};  // of LearnedInput: [rows, channels] as the table, any dtype; channels adjacent
  TensorView d_token_types{};
  TensorView d_scale{};  // of SinusoidalInput with a learned scale: [1], f32 or f64

  Parallel parallel{};
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in RotateArgs
};

// Throws Error, before anything is written, for what add_input refuses, for x of f64, and for gradients that do not
// fit, that the scheme has no place for, or that share memory. False where keep_going returned false: what is written
// holds nothing of use then. A list of the tokens by row is kept, 8 bytes for each token and row.
[[nodiscard]] POSENC_API bool add_input_backward(const PreparedInput& prepared, const AddInputBackwardArgs& args);

// Prepares for this one call, as add_input does.
[[nodiscard]] POSENC_API bool add_input_backward(const InputScheme& scheme, const InputWeights& weights,
                                                 const AddInputBackwardArgs& args);

}  // namespace posenc::inline v0_2
