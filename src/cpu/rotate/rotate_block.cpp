// cos and sin for a few rows: pointers into a held table, or rows made by the angle kernel into 16 KiB of scratch, for
// tables on demand and positions on several axes.
#include "cpu/rotate/rotate_block.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "cpu/angles/table_access.h"

namespace posenc::cpu {
namespace {

// All of a few rows, without the division, which takes 15 ns of a call on one token.
std::int64_t rows_together(std::int64_t rows, std::int64_t pairs) {
  if (rows <= RotateBlock::kRows && 2 * pairs * rows <= RotateBlock::kValues) return std::max<std::int64_t>(1, rows);
  return std::clamp<std::int64_t>(RotateBlock::kValues / (2 * pairs), 1, RotateBlock::kRows);
}

}  // namespace

RotateBlock::RotateBlock(const RotateArgs& args, const RotateCall& call, const kernels::KernelTable& kernels)
    : args_(args),
      call_(call),
      kernels_(kernels),
      pairs_(table_of(args, 0).pairs()),
      axes_(std::ssize(table_of(args, 0).layout().axes.names)),
      only_axis_(axes_ == 1 ? 0 : only_axis(table_of(args, 0).layout().axes.of_pair)),
      rows_(rows_together(call.batch * call.rows, pairs_)),
      made_(2 * pairs_ * rows_),
      positions_(axes_ * kRows) {}

bool RotateBlock::allocates(const RotateArgs& args) noexcept {
  const RotaryTable& table = table_of(args, 0);
  return 2 * table.pairs() > kValues || std::ssize(table.layout().axes.names) > kAxes;
}

// `position(axis, row)` is that of one of `count` rows.
template <typename PositionOf>
void RotateBlock::fill_from(const RotaryTable& table, const PositionOf& position, std::int64_t count) {
  if (const AngleRule* const rule = TableAccess::rule(table)) {
    double* const x = positions_.data();
    for (std::int64_t axis = 0; axis < axes_; ++axis) {
      for (std::int64_t t = 0; t < count; ++t) x[axis * kRows + t] = static_cast<double>(position(axis, t));
    }
    float* const out = made_.data();
    rule->write(kernels_, x, kRows, count, out, out + pairs_, 2 * pairs_);
    for (std::int64_t t = 0; t < count; ++t) cos_[static_cast<std::size_t>(t)] = out + 2 * pairs_ * t;
    return;
  }
  const auto row_at = [&](std::int64_t axis, std::int64_t t) {
    return table.rows().data() + (static_cast<std::int64_t>(position(axis, t)) - table.start()) * 2 * pairs_;
  };
  if (only_axis_ >= 0) {
    for (std::int64_t t = 0; t < count; ++t) cos_[static_cast<std::size_t>(t)] = row_at(only_axis_, t);
    return;
  }
  const std::vector<std::int32_t>& axis_of_pair = table.layout().axes.of_pair;
  for (std::int64_t t = 0; t < count; ++t) {
    float* const out = made_.data() + 2 * pairs_ * t;
    for (std::int64_t p = 0; p < pairs_; ++p) {
      const float* const row = row_at(axis_of_pair[static_cast<std::size_t>(p)], t);
      out[p] = row[p];
      out[pairs_ + p] = row[pairs_ + p];
    }
    cos_[static_cast<std::size_t>(t)] = out;
  }
}

// Counted positions start anew in each sequence; listed ones are found by the row's place in the call.
void RotateBlock::fill(std::int64_t sequence_index, std::int64_t first, std::int64_t count) {
  const RotaryTable& table = table_of(args_, sequence_index);
  std::visit(
      [&](const auto& given) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::int64_t start = given.start + first_token(args_.k_pages, sequence_index) + first;
          fill_from(
              table, [&](std::int64_t, std::int64_t t) { return start + t; }, count);
        } else {
          const std::int64_t before = call_.shared_positions ? 0 : sequence(args_, call_, sequence_index).first;
          const auto* const from = given.data() + before + first;
          fill_from(
              table, [&](std::int64_t axis, std::int64_t t) { return from[axis * call_.axis_stride + t]; }, count);
        }
      },
      args_.positions);
}

}  // namespace posenc::cpu
