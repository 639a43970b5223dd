// The rows that a few tokens' embeddings meet: pointers into a table or into rows that are held, or rows made here. One
// of these serves one thread. T: float for x of f32, f16 and bf16, double for f64.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/attend/scratch.h"
#include "cpu/input/check_add_input.h"
#include "cpu/input/kept_input.h"
#include "kernels/kernels.h"
#include "posenc/add_input.h"

namespace posenc::cpu {

template <typename T>
class InputBlock {
 public:
  static constexpr std::int64_t kRows = 64;

  InputBlock(const KeptInput& kept, const AddInputArgs& args, const InputCall& call,
             const kernels::KernelTable& kernels);

  // Rows at a time, at most kRows: fewer where rows are long, so that those that are made stay in L1.
  static std::int64_t rows(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) noexcept;
  // Whether rows are made in the call, and not found: in a table, or among those that are held.
  static bool makes(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) noexcept;
  // Whether one takes memory from the heap: rows of more than 8192 channels that are made here, more than 4 axes.
  static bool allocates(const KeptInput& kept, const AddInputArgs& args, const InputCall& call) noexcept;

  // Rows first .. first + count - 1 of a member of the batch; count <= rows().
  void fill_positions(std::int64_t member, std::int64_t first, std::int64_t count);
  void fill_types(std::int64_t member, std::int64_t first, std::int64_t count);

  const void* const* positions() const noexcept { return positions_.data(); }
  // Null where no token types are added.
  const void* const* types() const noexcept { return args_.token_types.empty() ? nullptr : types_.data(); }
  // What the pointers point to: T, or elements of the tensor's dtype.
  DType row_dtype() const noexcept { return row_dtype_; }

 private:
  // Numbers of T that fit the stack, and those that a block aims at.
  static constexpr std::int64_t kCapacity = 8192;
  static constexpr std::int64_t kAim = 4096;
  static constexpr std::int64_t kAxes = 4;
  static constexpr std::int64_t kUnitBytes = 64 * 1024;  // of x

  void place_rows(std::int64_t member, std::int64_t first, std::int64_t count);
  // An overload for each scheme: positions_ from places_.
  void make(const LearnedInput& scheme, std::int64_t count);
  void make(const SinusoidalInput& scheme, std::int64_t count);
  void make(const IntegerInput& scheme, std::int64_t count);
  void make(const BinaryInput& scheme, std::int64_t count);
  void make(const AxisSinesInput& scheme, std::int64_t count);
  template <typename Other>
  void make(const Other&, std::int64_t) noexcept {}  // prepare_input refuses these

  // A row of a table: itself, or as numbers of T in `made`.
  const void* row_of(const ConstTensorView& table, std::int64_t row, T* made) const;
  T* made_row(std::int64_t t) noexcept { return made_.data() + t * kept_.row_floats(); }

  const KeptInput& kept_;
  const AddInputArgs& args_;
  const InputCall& call_;
  const kernels::KernelTable& kernels_;
  DType row_dtype_;
  std::array<const void*, kRows> positions_{};
  std::array<const void*, kRows> types_{};
  Scratch<T, kCapacity> made_;
  Scratch<T, kCapacity> made_types_;
  Scratch<float, kCapacity> waves_;
  Scratch<double, kAxes * kRows> places_;  // [axes, kRows]
};

}  // namespace posenc::cpu
