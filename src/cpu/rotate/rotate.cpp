// rotate() of posenc/rotate.h: RoPE on q and k. Rows are shared among threads; each thread takes cos and sin of some
// rows (rotate_block.h) and rotates all heads of them (rotate_tensor.h) by the kernel (kernels/rotate_loop.h).
//
//   x_i -> R(i) x_i, R^-1 or R^T      RoFormer, arXiv 2104.09864, (34); reference: src/reference/rotate.cpp
#include "posenc/rotate.h"

#include <algorithm>

#include "base/formatted.h"
#include "base/parallel.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/row_runs.h"
#include "cpu/machine/dispatch.h"
#include "cpu/rotate/check_rotate.h"
#include "cpu/rotate/plain_call.h"
#include "cpu/rotate/rotate_block.h"
#include "cpu/rotate/rotate_tensor.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

// A table's rows are a cos and a sin; the transpose rotates the other way; R^T / a = (a R)^T / a^2.
cpu::RowAngles scaled(Direction direction, const RotaryTable& table) {
  const double a = table.attention_factor();
  const auto scale = direction == Direction::inverse ? static_cast<float>(1.0 / (a * a)) : 1.0F;
  return {nullptr, table.pairs(), scale, direction == Direction::forward ? scale : -scale};
}

// Apart from rotate, so that a small call does not make room for what this one needs.
[[gnu::noinline]] bool rotate_any(std::string_view where, const RotateArgs& args) {
  const cpu::RotateCall call = cpu::check_rotate(where, args);
  if (call.nothing()) return true;
  const kernels::KernelTable& kernels = cpu::kernels_for(where, args.isa);
  const cpu::TensorRotation tensors(args, call, kernels);
  const std::int64_t bytes_of_row = cpu::bytes_of_row(call, tensors.bytes());
  cpu::KeepGoing keep_going(args.keep_going);
  const auto rotate_part = [&](std::int64_t begin, std::int64_t end) {
    cpu::RotateBlock block(args, call, kernels);
    cpu::PacedKeepGoing may(keep_going);
    cpu::for_runs(args, call, begin, end, block.rows(), [&](std::int64_t s, std::int64_t first, std::int64_t count) {
      if (!may(count * bytes_of_row)) return;
      cpu::RowAngles angles = scaled(args.direction, cpu::table_of(args, s));
      angles.cos = block.cos();
      block.fill(s, first, count);
      tensors.rotate(s, first, count, angles);
    });
  };
  cpu::for_parts(args, call, tensors.bytes(), cpu::RotateBlock::allocates(args), rotate_part);
  return keep_going.answer();
}

}  // namespace

// The fast path first: at decode, checks would cost as much as the rotation.
bool rotate(const RotateArgs& args) {
  constexpr const char* kWhere = "rotate";
  if (cpu::is_small_and_plain(args)) {
    check_parallel(kWhere, args.parallel);
    cpu::rotate_small(args, cpu::kernels_for(kWhere, args.isa));
    return true;
  }
  return rotate_any(kWhere, args);
}

// The rows that rotate() would use for one sequence, by the same RotateBlock; sizes of cos and sin say how many.
void cos_sin_into(const RotaryTable& table, const Positions& positions, std::span<float> cos, std::span<float> sin) {
  constexpr const char* kWhere = "cos_sin_into";
  const std::int64_t pairs = table.pairs();
  if (std::ssize(cos) % pairs != 0) {
    throw Error(kWhere, {"cos.size()", formatted("be a multiple of {} pairs", pairs), formatted("{}", cos.size())});
  }
  if (sin.size() != cos.size()) {
    throw Error(kWhere, {"sin.size()", formatted("be cos.size(), {},", cos.size()), formatted("{}", sin.size())});
  }
  // A tensor of that many tokens without heads.
  const std::int64_t rows = std::ssize(cos) / pairs;
  const RotateArgs args{
      .k = tensor(cos.data(), {rows, 0, table.layout().head_dim}), .positions = positions, .table = &table};
  const cpu::RotateCall call = cpu::check_rotate(kWhere, args);
  cpu::RotateBlock block(args, call, cpu::kernels_for(kWhere, Isa::automatic));
  for (std::int64_t first = 0; first < rows; first += block.rows()) {
    const std::int64_t count = std::min(block.rows(), rows - first);
    block.fill(0, first, count);
    for (std::int64_t t = 0; t < count; ++t) {
      const float* const row = block.cos()[t];
      std::copy_n(row, pairs, cos.data() + (first + t) * pairs);
      std::copy_n(row + pairs, pairs, sin.data() + (first + t) * pairs);
    }
  }
}

}  // namespace posenc::inline v0_2
