// Which addresses a strided tensor touches: whether two of its elements overlap, and whether two tensors share one.
// Exact for tensors whose axes nest, which all of use are; q and k inside one fused QKV tensor are recognised as apart.
#include "cpu/call/tensor_memory.h"

#include <limits>

#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

// Elements that the first `count` axes span.
std::int64_t reach(const Memory& memory, int count) {
  std::int64_t out = 1;
  for (int i = 0; i < count; ++i) {
    const Extent& axis = memory.axes[static_cast<std::size_t>(i)];
    out += (axis.size - 1) * axis.stride;
  }
  return out;
}

// The first axis whose steps are shorter than what the axes below it span, or -1.
int meeting_axis(const Memory& memory) {
  for (int i = 0; i < memory.count; ++i) {
    if (memory.axes[static_cast<std::size_t>(i)].stride < reach(memory, i)) return i;
  }
  return -1;
}

// Whether their ranges of addresses are apart.
bool are_apart(const Memory& a, const Memory& b) {
  if (a.bytes == 0 || b.bytes == 0) return true;
  return a.lowest + static_cast<std::uintptr_t>(a.bytes) <= b.lowest ||
         b.lowest + static_cast<std::uintptr_t>(b.bytes) <= a.lowest;
}

// Whether the first m axes of a and the first n of b meet nowhere, b beginning `distance` elements after a. Where the
// outermost axis is the same, its steps are longer than what lies below them, so at most two steps of one can meet a
// given step of the other.
bool meet_nowhere(const Memory& a, int m, const Memory& b, int n, std::int64_t distance) {
  if (distance >= reach(a, m) || -distance >= reach(b, n)) return true;
  if (m == 0 || n == 0) return false;
  const Extent& x = a.axes[static_cast<std::size_t>(m - 1)];
  const Extent& y = b.axes[static_cast<std::size_t>(n - 1)];
  if (x.size != y.size || x.stride != y.stride) return false;
  const std::int64_t below = distance / x.stride - (distance % x.stride < 0 ? 1 : 0);
  for (const std::int64_t steps : {below, below + 1}) {
    if (steps <= -x.size || steps >= x.size) continue;
    if (!meet_nowhere(a, m - 1, b, n - 1, distance - steps * x.stride)) return false;
  }
  return true;
}

}  // namespace

Memory memory_of(std::string_view where, std::string_view name, const ConstTensorView& view) {
  return memory_of(where, name, view, bytes_of(view.dtype));
}

Memory memory_of(std::string_view where, std::string_view name, const ConstTensorView& view,
                 std::int64_t element_bytes) {
  Memory out;
  out.element_bytes = element_bytes;
  std::int64_t lowest = 0;
  std::int64_t span = 1;
  bool fits = true;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) {
    if (view.shape[axis] <= 1) continue;
    const std::int64_t stride = view.strides[axis];
    fits = fits && stride > std::numeric_limits<std::int64_t>::min();
    if (!fits) break;
    const std::int64_t magnitude = stride < 0 ? -stride : stride;
    std::int64_t reach = 0;
    fits =
        !__builtin_mul_overflow(magnitude, view.shape[axis] - 1, &reach) && !__builtin_add_overflow(span, reach, &span);
    if (!fits) break;
    if (stride < 0) lowest -= reach;
    int at = out.count++;
    for (; at > 0 && out.axes[static_cast<std::size_t>(at - 1)].stride > magnitude; --at) {
      out.axes[static_cast<std::size_t>(at)] = out.axes[static_cast<std::size_t>(at - 1)];
    }
    out.axes[static_cast<std::size_t>(at)] = {view.shape[axis], magnitude};
  }
  if (!fits || __builtin_mul_overflow(span, out.element_bytes, &out.bytes)) {
    throw Error(where, {formatted("{}.strides", name), "reach less than 2^63 bytes", "larger"});
  }
  out.lowest = reinterpret_cast<std::uintptr_t>(view.data) + static_cast<std::uintptr_t>(lowest * out.element_bytes);
  return out;
}

void check_places(std::string_view where, std::string_view name, const Memory& memory) {
  const int i = meeting_axis(memory);
  if (i < 0) return;
  const Extent& axis = memory.axes[static_cast<std::size_t>(i)];
  throw Error(where, {formatted("{}.strides", name), "give every element a place of its own",
                      formatted("{} parts of {} elements, {} apart", axis.size, reach(memory, i), axis.stride)});
}

bool are_disjoint(const Memory& a, const Memory& b) {
  if (are_apart(a, b)) return true;
  if (a.element_bytes != b.element_bytes || meeting_axis(a) >= 0 || meeting_axis(b) >= 0) return false;
  const auto distance = static_cast<std::int64_t>(b.lowest - a.lowest);
  if (distance % a.element_bytes != 0) return false;
  return meet_nowhere(a, a.count, b, b.count, distance / a.element_bytes);
}

}  // namespace posenc::cpu
