#include "posenc/rotate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cpu/check_rotate.h"
#include "cpu/dispatch.h"
#include "cpu/rotate_block.h"

namespace posenc {
namespace {

// From so much memory on, lines are fetched ahead: the second cache does not hold them.
constexpr std::int64_t kFetchFromBytes = std::int64_t{1} << 20U;

// What cos and sin are multiplied with. A table's rows are a cos and a sin; R^T / a = (a R)^T / a^2.
struct Scales {
  float cos;
  float sin;
};

Scales scales(Direction direction, double attention_factor) {
  switch (direction) {
    case Direction::forward: return {1.0F, 1.0F};
    case Direction::transpose: return {1.0F, -1.0F};
    case Direction::inverse: break;
  }
  const auto scale = static_cast<float>(1.0 / (attention_factor * attention_factor));
  return {scale, -scale};
}

class Rotation {
 public:
  Rotation(const RotateArgs& args, const cpu::RotateCall& call)
      : args_(args), call_(call), kernels_(cpu::kernels_for("rotate", args.isa)), block_(args, call, kernels_) {
    for (const cpu::HeadsView& x : call.tensors) {
      bytes_ += call.batch * call.rows * x.heads * layout().head_dim * x.element_bytes;
    }
  }

  void run() {
    for (std::int64_t s = 0; s < call_.sequences; ++s) {
      const cpu::Sequence rows = cpu::sequence(args_, call_, s);
      for (std::int64_t first = 0; first < rows.count; first += block_.rows()) {
        const std::int64_t count = std::min(block_.rows(), rows.count - first);
        block_.fill(s, first, count);
        for (const cpu::HeadsView& x : call_.tensors) {
          if (x.from != nullptr) turn(x, s, rows.first + first, count);
        }
      }
    }
  }

 private:
  const RotaryLayout& layout() const { return cpu::table_of(args_, 0).layout(); }

  // Rows first .. first + count - 1, counted through the batch, of one tensor.
  void turn(const cpu::HeadsView& x, std::int64_t s, std::int64_t first, std::int64_t count) {
    const RotaryTable& table = cpu::table_of(args_, s);
    const Scales scale = scales(args_.direction, table.attention_factor());
    const std::int64_t batch = first / call_.rows;
    const std::int64_t row = first % call_.rows;
    const auto start = [&](const cpu::HeadsView::Strides& strides) {
      return (batch * strides.batch + row * strides.row + layout().first_channel) * x.element_bytes;
    };
    kernels::RotateRows rows{
        .element = x.element,
        .rows = count,
        .heads = x.heads,
        .pairs = table.pairs(),
        .partner = layout().pairing == Pairing::half ? table.pairs() : 0,
        .cos = block_.cos(),
        .sin_offset = table.pairs(),
        .cos_scale = scale.cos,
        .sin_scale = scale.sin,
        .from = x.from + start(x.from_strides),
        .from_row = x.from_strides.row,
        .from_head = x.from_strides.head,
        .to = x.to + start(x.to_strides),
        .to_row = x.to_strides.row,
        .to_head = x.to_strides.head,
    };
    if (x.to != x.from) copy_kept(x, rows);
    if (std::abs(rows.from_head) > std::abs(rows.from_row)) {
      turn_by_head(x, rows);
    } else {
      if (fetches(x))
        rows.fetch_end =
            ahead_of(x.from + (batch * x.from_strides.batch + call_.rows * x.from_strides.row) * x.element_bytes);
      kernels_.rotate(rows);
    }
  }

  // A head's rows are nearer to each other than a row's heads: one head after another.
  void turn_by_head(const cpu::HeadsView& x, kernels::RotateRows rows) {
    const std::int64_t heads = rows.heads;
    rows.heads = 1;
    for (std::int64_t h = 0; h < heads; ++h) {
      if (fetches(x)) {
        rows.fetch_end = ahead_of(static_cast<const char*>(rows.from) + rows.rows * rows.from_row * x.element_bytes);
      }
      kernels_.rotate(rows);
      rows.from = static_cast<const char*>(rows.from) + rows.from_head * x.element_bytes;
      rows.to = static_cast<char*>(rows.to) + rows.to_head * x.element_bytes;
    }
  }

  // Channels before and after those that turn.
  void copy_kept(const cpu::HeadsView& x, const kernels::RotateRows& rows) const {
    const auto before = static_cast<std::size_t>(layout().first_channel * x.element_bytes);
    const auto turned = static_cast<std::size_t>(layout().dim * x.element_bytes);
    const auto after = static_cast<std::size_t>(layout().head_dim * x.element_bytes) - before - turned;
    if (before + after == 0) return;
    for (std::int64_t t = 0; t < rows.rows; ++t) {
      for (std::int64_t h = 0; h < rows.heads; ++h) {
        const char* const from =
            static_cast<const char*>(rows.from) + (t * rows.from_row + h * rows.from_head) * x.element_bytes;
        char* const to = static_cast<char*>(rows.to) + (t * rows.to_row + h * rows.to_head) * x.element_bytes;
        std::memcpy(to - before, from - before, before);
        std::memcpy(to + turned, from + turned, after);
      }
    }
  }

  // Whether memory is read in the order of its addresses, and more of it than the second cache holds.
  bool fetches(const cpu::HeadsView& x) const {
    const auto& [batch, row, head] = x.from_strides;
    return bytes_ >= kFetchFromBytes && row > 0 && head > 0;
  }
  static const void* ahead_of(const char* end) { return end - kernels::kFetchAheadBytes; }

  const RotateArgs& args_;
  const cpu::RotateCall& call_;
  const kernels::KernelTable& kernels_;
  cpu::RotateBlock block_;
  std::int64_t bytes_ = 0;
};

}  // namespace

void rotate(const RotateArgs& args) {
  const cpu::RotateCall call = cpu::check_rotate(args);
  if (call.batch * call.rows == 0) return;
  Rotation(args, call).run();
}

}  // namespace posenc
