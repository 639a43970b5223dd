// add_input() of posenc/add_input.h: rows are shared among threads; each thread finds or makes the position rows of
// some tokens (input_block.h) and combines them with the embeddings by the kernel (kernels/input_loop.h).
//
//   x_i -> (m x_i + token type's row) + p_i, or times p_i      reference: src/reference/input.cpp
#include "posenc/add_input.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/call/heads_view.h"
#include "cpu/call/keep_going.h"
#include "cpu/call/row_runs.h"
#include "cpu/input/check_add_input.h"
#include "cpu/input/input_block.h"
#include "cpu/input/kept_input.h"
#include "cpu/machine/dispatch.h"

namespace posenc::inline v0_2 {
namespace {

constexpr const char* kAddInput = "add_input";

// Some rows of one member of the batch.
struct InputUnit {
  std::int64_t member = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// The call cut into units, in the order of memory; but where rows are made that several members share, their units
// follow each other, so that each row is made once. (For rows that are there already that order is slower: memory is
// read in many short runs.)
struct InputUnits {
  std::int64_t rows_of_unit = 0;
  std::int64_t blocks = 0;  // of a member
  bool by_block = false;

  InputUnit operator()(const cpu::InputCall& call, std::int64_t n) const {
    const std::int64_t member = by_block ? n % call.batch : n / blocks;
    const std::int64_t block = by_block ? n / call.batch : n % blocks;
    const std::int64_t first = block * rows_of_unit;
    return {member, first, std::min(rows_of_unit, call.rows - first)};
  }
};

// x and the rows of one unit.
struct UnitRows {
  const void* from;
  void* to;
  std::int64_t count;
  const void* const* positions;
  const void* const* types;
  DType row_dtype;
};

UnitRows rows_of(const cpu::InputCall& call, const InputUnit& unit) {
  const auto at = [&](std::int64_t batch, std::int64_t row) {
    return (unit.member * batch + unit.first * row) * call.element_bytes;
  };
  return {.from = static_cast<const char*>(call.from) + at(call.from_batch, call.from_row),
          .to = static_cast<char*>(call.to) + at(call.to_batch, call.to_row),
          .count = unit.count,
          .positions = nullptr,
          .types = nullptr,
          .row_dtype = DType::f32};
}

void combine_floats(const cpu::KeptInput& kept, const cpu::InputCall& call, const kernels::KernelTable& kernels,
                    const UnitRows& rows) {
  kernels.input({.element = cpu::element_of(call.dtype),
                 .row_element = cpu::element_of(rows.row_dtype),
                 .rows = rows.count,
                 .count = kept.channels,
                 .multiplier = static_cast<float>(kept.multiplier),
                 .multiplies = kept.combine == InputCombine::multiply,
                 .positions = rows.positions,
                 .types = rows.types,
                 .from = rows.from,
                 .from_row = call.from_row,
                 .to = rows.to,
                 .to_row = call.to_row});
}

// f64 has no kernel: the compiler makes vectors of these loops, and memory bounds them.
template <bool kTypes, bool kMultiplies>
void combine_double_rows(const cpu::KeptInput& kept, const cpu::InputCall& call, const UnitRows& rows) {
  const double m = kept.multiplier;
  for (std::int64_t t = 0; t < rows.count; ++t) {
    const double* const from = static_cast<const double*>(rows.from) + t * call.from_row;
    double* const to = static_cast<double*>(rows.to) + t * call.to_row;
    const auto* const p = static_cast<const double*>(rows.positions[t]);
    const auto* const type = kTypes ? static_cast<const double*>(rows.types[t]) : nullptr;
    for (std::int64_t c = 0; c < kept.channels; ++c) {
      double x = m * from[c];
      if constexpr (kTypes) x += type[c];
      to[c] = kMultiplies ? x * p[c] : x + p[c];
    }
  }
}

void combine_doubles(const cpu::KeptInput& kept, const cpu::InputCall& call, const UnitRows& rows) {
  const bool multiplies = kept.combine == InputCombine::multiply;
  if (rows.types != nullptr) {
    return multiplies ? combine_double_rows<true, true>(kept, call, rows)
                      : combine_double_rows<true, false>(kept, call, rows);
  }
  return multiplies ? combine_double_rows<false, true>(kept, call, rows)
                    : combine_double_rows<false, false>(kept, call, rows);
}

// T: what rows are made in, float or double.
template <typename T>
bool add_rows(const cpu::KeptInput& kept, const AddInputArgs& args, const cpu::InputCall& call,
              const kernels::KernelTable& kernels) {
  using Block = cpu::InputBlock<T>;
  const std::int64_t rows_of_unit = Block::rows(kept, args, call);
  const InputUnits units{rows_of_unit, (call.rows + rows_of_unit - 1) / rows_of_unit,
                         call.shared_positions && Block::makes(kept, args, call)};
  const std::int64_t count = units.blocks * call.batch;
  const std::int64_t bytes_of_row = kept.channels * call.element_bytes;
  cpu::KeepGoing keep_going(args.keep_going);
  const auto add_part = [&](std::int64_t begin, std::int64_t end) {
    Block block(kept, args, call, kernels);
    cpu::PacedKeepGoing may(keep_going);
    for (std::int64_t n = begin; n < end; ++n) {
      const InputUnit unit = units(call, n);
      if (!may(unit.count * bytes_of_row)) return;
      if (!units.by_block || unit.member == 0 || n == begin) {
        block.fill_positions(unit.member, unit.first, unit.count);
      }
      block.fill_types(unit.member, unit.first, unit.count);
      UnitRows rows = rows_of(call, unit);
      rows.positions = block.positions();
      rows.types = block.types();
      rows.row_dtype = block.row_dtype();
      if constexpr (std::is_same_v<T, double>) {
        combine_doubles(kept, call, rows);
      } else {
        combine_floats(kept, call, kernels, rows);
      }
    }
  };
  const std::int64_t bytes = call.batch * call.rows * bytes_of_row;
  if (bytes < 2 * cpu::kBytesOfAThread || Block::allocates(kept, args, call)) {
    add_part(0, count);
  } else {
    const std::int64_t grain = std::max<std::int64_t>(1, cpu::kBytesOfAThread / (rows_of_unit * bytes_of_row));
    parallel_for(args.parallel, count, grain,
                 [&](std::int64_t begin, std::int64_t end) noexcept { add_part(begin, end); });
  }
  return keep_going.answer();
}

bool add_kept(const cpu::KeptInput& kept, const AddInputArgs& args) {
  const cpu::InputCall call = cpu::check_add_input(kAddInput, kept, args);
  const kernels::KernelTable& kernels = cpu::kernels_for(kAddInput, args.isa);
  if (call.nothing()) return true;
  return call.dtype == DType::f64 ? add_rows<double>(kept, args, call, kernels)
                                  : add_rows<float>(kept, args, call, kernels);
}

}  // namespace

bool add_input(const PreparedInput& prepared, const AddInputArgs& args) {
  return add_kept(cpu::KeptInputAccess::kept(prepared), args);
}

bool add_input(const InputScheme& scheme, const InputWeights& weights, const AddInputArgs& args) {
  const ConstTensorView& x = args.x;
  const std::int64_t channels =
      x.rank == 2 || x.rank == 3 ? x.shape[static_cast<std::size_t>(x.rank - 1)] : std::int64_t{0};
  return add_kept(cpu::keep_input(kAddInput, scheme, weights, channels), args);
}

}  // namespace posenc::inline v0_2
