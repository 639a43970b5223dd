// R_to(to) R_from(from)^-1, pair by pair, from rows C = a cos, S = a sin of both tables:
//
//   c = (C_to C_from + S_to S_from) / a_from^2      = a_to / a_from cos(to - from)
//   s = (S_to C_from - C_to S_from) / a_from^2
//
// rerotate() of posenc/rotate.h: cached keys to other positions, or to a table with another base or rule. The combined
// rows go to the kernel as any table's would; in double, since s cancels where the angles are close.

#include <algorithm>
#include <array>

#include "cpu/attend/scratch.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/row_runs.h"
#include "cpu/machine/dispatch.h"
#include "cpu/rotate/check_rotate.h"
#include "cpu/rotate/rotate_block.h"
#include "cpu/rotate/rotate_tensor.h"
#include "posenc/error.h"
#include "posenc/rotate.h"

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kRerotate = "rerotate";

// One side of the call, as a call of rotate.
RotateArgs side(const RerotateArgs& args, const RotaryTable* table, std::span<const RotaryTable* const> tables,
                const Positions& positions, Direction direction) {
  return {.k = args.k,
          .k_from = args.k_from,
          .positions = positions,
          .table = table,
          .direction = direction,
          .cu_seqlens = args.cu_seqlens,
          .k_pages = args.k_pages,
          .tables = tables,
          .parallel = args.parallel,
          .isa = args.isa};
}

// A norm after the rotation has taken the attention factor away again: there is none to change.
bool keeps_factors(const LayerPlan& layer, const RotateArgs& from, const RotateArgs& to, std::int64_t sequences) {
  if (!layer.qk_norm || layer.qk_norm->order == QkNorm::Order::before) return true;
  for (std::int64_t s = 0; s < sequences; ++s) {
    if (cpu::table_of(from, s).attention_factor() != cpu::table_of(to, s).attention_factor()) return false;
  }
  return true;
}

// Rows of cos of all pairs, then sin; `scale` is 1 / a_from^2.
void combine(const float* from, const float* to, std::int64_t pairs, double scale, float* out) {
  for (std::int64_t p = 0; p < pairs; ++p) {
    const double from_cos = from[p];
    const double from_sin = from[pairs + p];
    const double to_cos = to[p];
    const double to_sin = to[pairs + p];
    out[p] = static_cast<float>((to_cos * from_cos + to_sin * from_sin) * scale);
    out[pairs + p] = static_cast<float>((to_sin * from_cos - to_cos * from_sin) * scale);
  }
}

}  // namespace

bool rerotate(const RerotateArgs& args) {
  if (!args.k_quantised.empty()) {
    throw Error(kRerotate,
                {"k_quantised", "be omitted, since " + rerotation_obstacle(args.k_quantised.format) + ",", "given"});
  }
  if (args.layer != nullptr) {
    if (const auto obstacle = rerotation_obstacle(*args.layer)) {
      throw Error(kRerotate, {"layer", "allow its cached keys to be rotated again", "of the kind where " + *obstacle});
    }
  }
  const RotateArgs from = side(args, args.from_table, args.from_tables, args.from_positions, Direction::inverse);
  const RotateArgs to = side(args, args.to_table, args.to_tables, args.to_positions, Direction::forward);
  const cpu::RotateCall from_call = cpu::check_rotate(kRerotate, from, "from_");
  const cpu::RotateCall call = cpu::check_rotate(kRerotate, to, "to_");
  if (cpu::table_of(from, 0).layout() != cpu::table_of(to, 0).layout()) {
    throw Error(kRerotate, {"to_table", "rotate the same channels as from_table", "of another layout"});
  }
  if (args.layer != nullptr && !keeps_factors(*args.layer, from, to, call.sequences)) {
    throw Error(kRerotate, {"to_table", "have the attention factor of from_table, since a norm follows the rotation,",
                            "of another"});
  }
  if (call.nothing()) return true;

  const kernels::KernelTable& kernels = cpu::kernels_for(kRerotate, args.isa);
  const cpu::TensorRotation tensors(to, call, kernels);
  const std::int64_t pairs = cpu::table_of(to, 0).pairs();
  const std::int64_t bytes_of_row = cpu::bytes_of_row(call, tensors.bytes());
  cpu::KeepGoing keep_going(args.keep_going);
  const auto rotate_part = [&](std::int64_t begin, std::int64_t end) {
    cpu::PacedKeepGoing may(keep_going);
    cpu::RotateBlock from_block(from, from_call, kernels);
    cpu::RotateBlock to_block(to, call, kernels);
    cpu::Scratch<float, cpu::RotateBlock::kValues> rows(2 * pairs * to_block.rows());
    std::array<const float*, cpu::RotateBlock::kRows> cos;
    for (std::int64_t t = 0; t < to_block.rows(); ++t) cos[static_cast<std::size_t>(t)] = rows.data() + 2 * pairs * t;
    cpu::for_runs(to, call, begin, end, to_block.rows(), [&](std::int64_t s, std::int64_t first, std::int64_t count) {
      if (!may(count * bytes_of_row)) return;
      const double a = cpu::table_of(from, s).attention_factor();
      from_block.fill(s, first, count);
      to_block.fill(s, first, count);
      for (std::int64_t t = 0; t < count; ++t) {
        combine(from_block.cos()[t], to_block.cos()[t], pairs, 1.0 / (a * a), rows.data() + 2 * pairs * t);
      }
      tensors.rotate(s, first, count, {.cos = cos.data(), .sin_offset = pairs});
    });
  };
  cpu::for_parts(to, call, tensors.bytes(), cpu::RotateBlock::allocates(to), rotate_part);
  return keep_going.answer();
}

std::optional<std::string> rerotation_obstacle(const LayerPlan& layer) {
  if (layer.qk_norm && layer.qk_norm->order == QkNorm::Order::after) {
    if (layer.qk_norm->weighted) return "a norm with weights follows the rotation";
    // It takes off the mean of the channels, which rotating changes; rms and l2 keep what rotating keeps.
    if (layer.qk_norm->kind == QkNorm::Kind::layer) return "a norm that subtracts the mean follows the rotation";
  }
  const auto rotates = [](const Rotate& rotate) { return rotate.role == RotateRole::main; };
  if (std::ranges::none_of(layer.rotate, rotates)) return "keys are not rotated";
  return {};
}

}  // namespace posenc::inline v0_2
