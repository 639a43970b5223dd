// Recognises the calls of rotate that an engine makes for each token of each layer by comparing shapes and strides, and
// does small ones at once on the calling thread. What is not plain goes to check_rotate.h.
#include "cpu/rotate/plain_call.h"

#include <array>
#include <variant>

#include "cpu/call/row_runs.h"
#include "cpu/rotate/plain_tensor.h"
#include "cpu/rotate/rotate_block.h"
#include "cpu/rotate/rotate_tensor.h"

namespace posenc::cpu {
namespace {

const TensorView& first_tensor(const RotateArgs& args) { return args.q.empty() ? args.k : args.q; }

}  // namespace

// Sizes that must all be 0 are tested by one comparison of their bits together.
bool is_plain(const RotateArgs& args) noexcept {
  const RotaryTable* const table = args.table;
  const std::size_t beyond = args.tables.size() | args.cu_seqlens.size() | args.k_pages.block_table.size() |
                             args.k_pages.first.size() | static_cast<std::size_t>(args.q_from.rank) |
                             static_cast<std::size_t>(args.k_from.rank);
  if (beyond != 0 || !is_plain_table(table)) return false;
  if (args.direction != Direction::forward && args.direction != Direction::transpose) return false;
  const std::int64_t head_dim = table->layout().head_dim;
  const std::int64_t rows = first_tensor(args).shape[0];
  if (!is_below_large(1, head_dim) || !is_below_large(1, rows)) return false;
  for (const TensorView* const x : {&args.q, &args.k}) {
    if (x->empty() ? !is_absent(*x) : !is_plain_tensor(*x, rows, head_dim)) return false;
  }
  const bool are_both = !args.q.empty() && !args.k.empty();
  return (!are_both || are_apart(addresses_of(args.q), addresses_of(args.k))) && serves(*table, args.positions, rows);
}

RotateCall plain_call(const RotateArgs& args) noexcept {
  const std::int64_t rows = first_tensor(args).shape[0];
  return {.tensors = {plain_heads(args.q), plain_heads(args.k)},
          .batch = 1,
          .rows = rows,
          .sequences = 1,
          .axis_stride = std::holds_alternative<PositionRange>(args.positions) ? 0 : rows};
}

// Below what is worth two threads; where one is asked for, below what lines are fetched ahead for (rotate_tensor.cpp).
bool is_small_and_plain(const RotateArgs& args) noexcept {
  const std::int64_t rows = first_tensor(args).shape[0];
  if (rows > RotateBlock::kRows || !is_plain(args)) return false;
  const auto per_channel = [&](const TensorView& x) { return x.shape[1] * rows * bytes_of(x.dtype); };
  std::int64_t bytes = 0;
  return !__builtin_mul_overflow(per_channel(args.q) + per_channel(args.k), args.table->layout().dim, &bytes) &&
         bytes < (args.parallel.threads == 1 ? kFetchFromBytes : 2 * kBytesOfAThread);
}

void rotate_small(const RotateArgs& args, const kernels::KernelTable& kernels) noexcept {
  const RotaryTable& table = *args.table;
  const std::int64_t rows = first_tensor(args).shape[0];
  std::array<const float*, RotateBlock::kRows> cos;
  const auto find = [&](const auto& position) {
    for (std::int64_t t = 0; t < rows; ++t) {
      cos[static_cast<std::size_t>(t)] = table.rows().data() + (position(t) - table.start()) * 2 * table.pairs();
    }
  };
  if (const auto* const list = std::get_if<std::span<const std::int64_t>>(&args.positions)) {
    find([&](std::int64_t t) { return (*list)[static_cast<std::size_t>(t)]; });
  } else if (const auto* const narrow = std::get_if<std::span<const std::int32_t>>(&args.positions)) {
    find([&](std::int64_t t) { return std::int64_t{(*narrow)[static_cast<std::size_t>(t)]}; });
  } else if (const auto* const range = std::get_if<PositionRange>(&args.positions)) {
    find([&](std::int64_t t) { return range->start + t; });
  }
  const float sin_scale = args.direction == Direction::forward ? 1.0F : -1.0F;
  const RowAngles angles{cos.data(), table.pairs(), 1.0F, sin_scale};
  for (const TensorView* const x : {&args.q, &args.k}) {
    if (x->empty()) continue;
    kernels.rotate(rows_of(plain_heads(*x), table.layout(), rows, angles, x->data, x->data, nullptr));
  }
}

}  // namespace posenc::cpu
