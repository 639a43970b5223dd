#include "cpu/check_rotate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "cpu/table_access.h"
#include "cpu/tensor_memory.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr const char* kWhere = "rotate";

[[noreturn]] [[gnu::cold]] void refuse(std::string field, std::string must, std::string is) {
  throw Error(kWhere, {std::move(field), std::move(must), std::move(is)});
}

std::string shape_text(const ConstTensorView& view) {
  std::string out;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(std::clamp(view.rank, 0, kMaxRank)); ++axis) {
    out += fmt::format("{}{}", axis == 0 ? "[" : ", ", view.shape[axis]);
  }
  return out + "]";
}

kernels::Element element_of(const char* name, DType dtype) {
  switch (dtype) {
    case DType::f32: return kernels::Element::f32;
    case DType::f16: return kernels::Element::f16;
    case DType::bf16: return kernels::Element::bf16;
    case DType::f64: break;
  }
  refuse(fmt::format("{}.dtype", name), "be f32, f16 or bf16", std::string(posenc::name(dtype)));
}

HeadsView::Strides strides_of(const ConstTensorView& view) {
  if (view.rank == 3) return {0, view.strides[0], view.strides[1]};
  return {view.strides[0], view.strides[2], view.strides[1]};
}

// Its rank, sizes and channels.
void check_tensor(const char* name, const ConstTensorView& view, const RotaryLayout& layout) {
  if (view.rank != 3 && view.rank != 4) {
    refuse(fmt::format("{}.rank", name), "be 3, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim]",
           fmt::to_string(view.rank));
  }
  const auto last = static_cast<std::size_t>(view.rank - 1);
  for (std::size_t axis = 0; axis <= last; ++axis) {
    if (view.shape[axis] < 0) {
      refuse(fmt::format("{}.shape[{}]", name, axis), "be at least 0", fmt::to_string(view.shape[axis]));
    }
  }
  if (view.shape[last] != layout.head_dim) {
    refuse(fmt::format("{}.shape[{}]", name, last), fmt::format("be the table's head_dim, {},", layout.head_dim),
           fmt::to_string(view.shape[last]));
  }
  if (view.strides[last] != 1 && view.shape[last] > 1) {
    refuse(fmt::format("{}.strides[{}]", name, last), "be 1: channels of a head are adjacent",
           fmt::to_string(view.strides[last]));
  }
}

bool has_no_elements(const ConstTensorView& view) {
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) {
    if (view.shape[axis] == 0) return true;
  }
  return false;
}

HeadsView heads_view(const char* name, const char* from_name, const TensorView& to, const ConstTensorView& from,
                     const RotaryLayout& layout, Memory& memory) {
  if (to.empty()) {
    if (!from.empty()) refuse(name, fmt::format("be given where {} is", from_name), "left out");
    return {};
  }
  check_tensor(name, to, layout);
  HeadsView out;
  out.element = element_of(name, to.dtype);
  out.element_bytes = bytes_of(to.dtype);
  const ConstTensorView& source = from.empty() ? ConstTensorView(to) : from;
  if (!from.empty()) {
    check_tensor(from_name, from, layout);
    if (from.rank != to.rank || from.shape != to.shape) {
      refuse(fmt::format("{}.shape", from_name), fmt::format("be that of {}, {},", name, shape_text(to)),
             shape_text(from));
    }
    if (from.dtype != to.dtype) {
      refuse(fmt::format("{}.dtype", from_name), fmt::format("be that of {}, {},", name, posenc::name(to.dtype)),
             std::string(posenc::name(from.dtype)));
    }
  }
  out.heads = to.shape[1];
  if (has_no_elements(to)) return out;
  for (const auto& [label, view] : {std::pair{name, ConstTensorView(to)}, std::pair{from_name, source}}) {
    if (view.data == nullptr) refuse(fmt::format("{}.data", label), "point to the elements", "null");
    if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(out.element_bytes) != 0) {
      refuse(fmt::format("{}.data", label), fmt::format("be a multiple of {} bytes", out.element_bytes), "not one");
    }
  }
  memory = memory_of(kWhere, name, to);
  out.from = static_cast<const char*>(source.data);
  out.to = static_cast<char*>(to.data);
  out.from_strides = strides_of(source);
  out.to_strides = strides_of(to);
  if (!from.empty() && (from.data != to.data || from.strides != to.strides)) {
    const Memory read = memory_of(kWhere, from_name, from);
    if (!are_disjoint(memory, read, out.element_bytes)) {
      refuse(from_name, fmt::format("be {} itself or share no element with it", name), "overlapping");
    }
  }
  return out;
}

// q and k of one call: as many tokens, and no element in common.
void check_together(const RotateArgs& args, const std::array<Memory, 2>& memory) {
  const TensorView& q = args.q;
  const TensorView& k = args.k;
  if (q.rank != k.rank) refuse("k.rank", fmt::format("be that of q, {},", q.rank), fmt::to_string(k.rank));
  for (const std::size_t axis : q.rank == 3 ? std::array<std::size_t, 2>{0, 0} : std::array<std::size_t, 2>{0, 2}) {
    if (q.shape[axis] == k.shape[axis]) continue;
    refuse(fmt::format("k.shape[{}]", axis), fmt::format("be that of q, {},", q.shape[axis]),
           fmt::to_string(k.shape[axis]));
  }
  if (memory[0].bytes == 0 || memory[1].bytes == 0) return;
  if (q.dtype == k.dtype) {
    if (are_disjoint(memory[0], memory[1], bytes_of(q.dtype))) return;
  } else {
    const bool apart = memory[0].lowest + memory[0].bytes <= memory[1].lowest ||
                       memory[1].lowest + memory[1].bytes <= memory[0].lowest;
    if (apart) return;
  }
  refuse("k", "share no element with q", "overlapping");
}

// ---- Tables, sequences, positions. ----

void check_tables(const RotateArgs& args) {
  if (args.tables.empty()) {
    if (args.table == nullptr) refuse("table", "be given, or tables", "null");
    return;
  }
  if (args.table != nullptr) refuse("table", "be left out where tables are given", "given");
  for (std::size_t s = 0; s < args.tables.size(); ++s) {
    if (args.tables[s] == nullptr) refuse(fmt::format("tables[{}]", s), "be given", "null");
    if (args.tables[s]->layout() != args.tables[0]->layout()) {
      refuse(fmt::format("tables[{}]", s), "turn the same channels as tables[0]", "of another layout");
    }
  }
}

void check_packing(std::span<const std::int32_t> bounds, std::int64_t rows) {
  for (std::size_t s = 0; s < bounds.size(); ++s) {
    const std::int32_t least = s == 0 ? 0 : bounds[s - 1];
    if (bounds[s] >= least && (s > 0 || bounds[s] == 0)) continue;
    refuse(fmt::format("cu_seqlens[{}]", s), s == 0 ? "be 0" : fmt::format("be at least {}, the one before,", least),
           fmt::to_string(bounds[s]));
  }
  if (bounds.back() != rows) {
    refuse(fmt::format("cu_seqlens[{}]", bounds.size() - 1), fmt::format("be the number of tokens, {},", rows),
           fmt::to_string(bounds.back()));
  }
}

// Which positions a table serves.
struct Served {
  double first;
  double last;
  bool whole;
};

Served served(const RotaryTable& table) {
  if (const AngleRule* const rule = TableAccess::rule(table)) {
    return {-rule->largest_position(), rule->largest_position(), false};
  }
  const auto first = static_cast<double>(table.start());
  return {first, first + static_cast<double>(table.count()) - 1, true};
}

template <typename Position>
void check_position(const Served& range, Position position, std::int64_t index) {
  const auto x = static_cast<double>(position);
  if (x >= range.first && x <= range.last && (!range.whole || x == std::floor(x))) return;
  refuse(index < 0 ? "positions" : fmt::format("positions[{}]", index),
         fmt::format("{} from {} to {}, which its table serves,", range.whole ? "be whole and lie" : "lie", range.first,
                     range.last),
         fmt::to_string(position));
}

void check_positions(const RotateArgs& args, RotateCall& call) {
  const std::int64_t axes = std::ssize(table_of(args, 0).layout().axes.names);
  if (const auto* const range = std::get_if<PositionRange>(&args.positions)) {
    for (std::int64_t s = 0; s < call.sequences; ++s) {
      const std::int64_t count = sequence(args, call, s).count;
      if (count == 0) continue;
      std::int64_t last = 0;
      if (__builtin_add_overflow(range->start, count - 1, &last)) last = std::numeric_limits<std::int64_t>::max();
      check_position(served(table_of(args, s)), range->start, -1);
      check_position(served(table_of(args, s)), last, -1);
    }
    return;
  }
  std::visit(
      [&](const auto& given) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(given)>, PositionRange>) {
          const std::int64_t all = call.batch * call.rows;
          call.shared_positions = call.batch > 1 && std::ssize(given) == axes * call.rows;
          if (!call.shared_positions && std::ssize(given) != axes * all) {
            refuse("positions", fmt::format("be {} long: one for each of {} axes and {} tokens", axes * all, axes, all),
                   fmt::format("{} long", given.size()));
          }
          call.axis_stride = call.shared_positions ? call.rows : all;
          for (std::int64_t s = 0; s < call.sequences; ++s) {
            const Served range = served(table_of(args, s));
            const Sequence rows = sequence(args, call, s);
            for (std::int64_t axis = 0; axis < axes; ++axis) {
              const std::int64_t first = axis * call.axis_stride + (call.shared_positions ? 0 : rows.first);
              for (std::int64_t i = first; i < first + rows.count; ++i) {
                check_position(range, given[static_cast<std::size_t>(i)], i);
              }
            }
          }
        }
      },
      args.positions);
}

void check_direction(const RotateArgs& args) {
  if (args.direction != Direction::inverse) return;
  for (std::int64_t s = 0; s < std::max<std::int64_t>(1, std::ssize(args.tables)); ++s) {
    const double a = table_of(args, s).attention_factor();
    if (std::isfinite(static_cast<float>(1 / (a * a)))) continue;
    refuse("direction", "be forward or transpose where the attention factor cannot be divided by", fmt::to_string(a));
  }
}

}  // namespace

Sequence sequence(const RotateArgs& args, const RotateCall& call, std::int64_t s) noexcept {
  if (args.cu_seqlens.empty()) return {s * call.rows, call.rows};
  const auto i = static_cast<std::size_t>(s);
  return {args.cu_seqlens[i], args.cu_seqlens[i + 1] - args.cu_seqlens[i]};
}

const RotaryTable& table_of(const RotateArgs& args, std::int64_t s) noexcept {
  return args.tables.empty() ? *args.table : *args.tables[static_cast<std::size_t>(s)];
}

RotateCall check_rotate(const RotateArgs& args) {
  check_tables(args);
  if (args.q.empty() && args.k.empty()) refuse("q", "be given, or k", "left out, and so is k");
  const RotaryLayout& layout = table_of(args, 0).layout();
  RotateCall call;
  std::array<Memory, 2> memory;
  call.tensors[0] = heads_view("q", "q_from", args.q, args.q_from, layout, memory[0]);
  call.tensors[1] = heads_view("k", "k_from", args.k, args.k_from, layout, memory[1]);
  const TensorView& first = args.q.empty() ? args.k : args.q;
  call.batch = first.rank == 4 ? first.shape[0] : 1;
  call.rows = first.rank == 4 ? first.shape[2] : first.shape[0];
  if (!args.q.empty() && !args.k.empty()) check_together(args, memory);

  call.sequences = first.rank == 4 ? call.batch : 1;
  if (!args.cu_seqlens.empty()) {
    if (first.rank == 4) refuse("cu_seqlens", "be left out for tensors of rank 4, whose batch are sequences,", "given");
    check_packing(args.cu_seqlens, call.rows);
    call.sequences = std::ssize(args.cu_seqlens) - 1;
  }
  if (!args.tables.empty() && std::ssize(args.tables) != call.sequences) {
    refuse("tables", fmt::format("have one table for each of {} sequences", call.sequences),
           fmt::format("{} long", args.tables.size()));
  }
  check_direction(args);
  check_positions(args, call);
  return call;
}

}  // namespace posenc::cpu
