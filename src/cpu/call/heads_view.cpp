// Tensors [tokens, heads, channels] and [batch, heads, tokens, channels] as one shape with four strides, for the
// rotation and the KV cache: dtype, rank, sizes and pointers are checked, axes of one element have no stride.
#include "cpu/call/heads_view.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

[[noreturn]] [[gnu::cold]] void refuse(TensorName name, std::string_view member, std::string must, std::string is) {
  throw Error(name.where, {formatted("{}{}", name.name, member), std::move(must), std::move(is)});
}

std::string shape_text(const ConstTensorView& view) {
  std::string out;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) {
    out += formatted("{}{}", axis == 0 ? "[" : ", ", view.shape[axis]);
  }
  return out + "]";
}

void check_dtype(TensorName name, DType dtype) {
  if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return;
  refuse(name, ".dtype", "be f32, f16 or bf16", std::string(posenc::name(dtype)));
}

// Its rank, sizes and channels.
void check_shape(TensorName name, const ConstTensorView& view, std::int64_t head_dim, Axes axes) {
  if (view.rank != 4 && (view.rank != 3 || axes == Axes::tokens_then_heads)) {
    refuse(name, ".rank",
           axes == Axes::tokens_then_heads ? "be 4, [blocks, block_size, heads, head_dim]"
                                           : "be 3, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim]",
           formatted("{}", view.rank));
  }
  const auto last = static_cast<std::size_t>(view.rank - 1);
  for (std::size_t axis = 0; axis <= last; ++axis) {
    if (view.shape[axis] >= 0) continue;
    refuse(name, formatted(".shape[{}]", axis), "be at least 0", formatted("{}", view.shape[axis]));
  }
  if (view.shape[last] != head_dim) {
    refuse(name, formatted(".shape[{}]", last), formatted("be the head_dim of the table, {},", head_dim),
           formatted("{}", view.shape[last]));
  }
  if (view.strides[last] != 1 && head_dim > 1) {
    refuse(name, formatted(".strides[{}]", last), "be 1, since channels of a head are adjacent,",
           formatted("{}", view.strides[last]));
  }
}

void check_data(TensorName name, const ConstTensorView& view) {
  if (view.data == nullptr) refuse(name, ".data", "point to the elements", "null");
  if (is_aligned(view)) return;
  refuse(name, ".data", formatted("be aligned to its elements, {} bytes,", bytes_of(view.dtype)), "between two");
}

// The stride of an axis with one element may be any number: it is 0 here.
HeadsView::Strides strides_of(const ConstTensorView& view, Axes axes) {
  const auto stride = [&](std::size_t axis) { return view.shape[axis] > 1 ? view.strides[axis] : 0; };
  if (view.rank == 3) return {0, stride(0), stride(1)};
  if (axes == Axes::tokens_then_heads) return {stride(0), stride(1), stride(2)};
  return {stride(0), stride(2), stride(1)};
}

bool same_shape(const ConstTensorView& a, const ConstTensorView& b) {
  return a.rank == b.rank && std::equal(a.shape.begin(), a.shape.begin() + a.rank, b.shape.begin());
}

// Of two tensors of one shape.
bool same_places(const ConstTensorView& a, const ConstTensorView& b) {
  if (a.data != b.data) return false;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(a.rank); ++axis) {
    if (a.shape[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

}  // namespace

bool has_elements(const ConstTensorView& x) {
  const auto end = x.shape.begin() + x.rank;
  return x.rank > 0 && std::find(x.shape.begin(), end, 0) == end;
}

HeadsView check_heads(TensorName to_name, const TensorView& to, TensorName from_name, const ConstTensorView& from,
                      std::int64_t head_dim, Axes axes, HeadsMemory& memory) {
  if (to.empty()) {
    if (!from.empty()) refuse(to_name, "", formatted("be given where {} is", from_name.name), "omitted");
    return {};
  }
  check_shape(to_name, to, head_dim, axes);
  check_dtype(to_name, to.dtype);
  HeadsView out;
  out.element = element_of(to.dtype);
  out.element_bytes = bytes_of(to.dtype);
  if (!from.empty()) {
    check_shape(from_name, from, head_dim, axes);
    if (!same_shape(from, to)) {
      refuse(from_name, ".shape", formatted("be that of {}, {},", to_name.name, shape_text(to)), shape_text(from));
    }
    if (from.dtype != to.dtype) {
      refuse(from_name, ".dtype", formatted("be that of {}, {},", to_name.name, posenc::name(to.dtype)),
             std::string(posenc::name(from.dtype)));
    }
  }
  const ConstTensorView source = from.empty() ? ConstTensorView(to) : from;
  const bool tokens_first = to.rank == 3 || axes == Axes::tokens_then_heads;
  out.heads = to.shape[to.rank == 3 ? 1 : tokens_first ? 2 : 1];
  if (!has_elements(to)) return out;
  check_data(to_name, to);
  check_data(from_name, source);
  memory.written = memory_of(to_name.where, to_name.name, to);
  check_places(to_name.where, to_name.name, memory.written);
  out.from = source.data;
  out.to = to.data;
  out.from_strides = strides_of(source, axes);
  out.to_strides = strides_of(to, axes);
  if (same_places(source, to)) return out;
  memory.read = memory_of(from_name.where, from_name.name, from);
  if (!are_disjoint(memory.written, memory.read)) {
    refuse(from_name, "", formatted("be {} itself or share no element with it", to_name.name), "overlapping");
  }
  return out;
}

}  // namespace posenc::cpu
