#include "posenc/rotate.h"

#include "cpu/check_rotate.h"
#include "cpu/dispatch.h"
#include "cpu/rotate_block.h"
#include "cpu/rotate_tensor.h"
#include "cpu/row_runs.h"

namespace posenc {
namespace {

// A table's rows are a cos and a sin; the transpose turns the other way; R^T / a = (a R)^T / a^2.
cpu::RowAngles scaled(Direction direction, const RotaryTable& table) {
  const double a = table.attention_factor();
  const auto scale = direction == Direction::inverse ? static_cast<float>(1.0 / (a * a)) : 1.0F;
  return {nullptr, table.pairs(), scale, direction == Direction::forward ? scale : -scale};
}

}  // namespace

void rotate(const RotateArgs& args) {
  const cpu::RotateCall call = cpu::check_rotate("rotate", args);
  if (call.nothing()) return;
  const kernels::KernelTable& kernels = cpu::kernels_for("rotate", args.isa);
  const cpu::TensorRotation tensors(args, call, kernels);
  const auto turn = [&](std::int64_t begin, std::int64_t end) {
    cpu::RotateBlock block(args, call, kernels);
    cpu::for_runs(args, call, begin, end, block.rows(), [&](std::int64_t s, std::int64_t first, std::int64_t count) {
      cpu::RowAngles angles = scaled(args.direction, cpu::table_of(args, s));
      angles.cos = block.cos();
      block.fill(s, first, count);
      tensors.turn(s, first, count, angles);
    });
  };
  cpu::for_parts(args, call, tensors.bytes(), cpu::RotateBlock::allocates(args), turn);
}

}  // namespace posenc
