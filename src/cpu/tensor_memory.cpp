#include "cpu/tensor_memory.h"

#include <fmt/format.h>

#include <limits>

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

}  // namespace

Memory memory_of(std::string_view where, std::string_view name, const ConstTensorView& view) {
  const std::int64_t element_bytes = bytes_of(view.dtype);
  Memory out;
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
  if (!fits || __builtin_mul_overflow(span, element_bytes, &out.bytes)) {
    throw Error(where, {fmt::format("{}.strides", name), "reach less than 2^63 bytes", "larger"});
  }
  std::int64_t reach = 1;  // elements that the axes so far span
  for (int i = 0; i < out.count; ++i) {
    const Extent& axis = out.axes[static_cast<std::size_t>(i)];
    if (axis.stride < reach) {
      throw Error(where, {fmt::format("{}.strides", name), "give every element a place of its own",
                          fmt::format("{} parts of {} elements, {} apart", axis.size, reach, axis.stride)});
    }
    reach += (axis.size - 1) * axis.stride;
  }
  out.lowest = static_cast<const char*>(view.data) + lowest * element_bytes;
  return out;
}

bool are_apart(const Memory& a, const Memory& b) {
  const auto low_a = reinterpret_cast<std::uintptr_t>(a.lowest);
  const auto low_b = reinterpret_cast<std::uintptr_t>(b.lowest);
  return low_a + static_cast<std::uintptr_t>(a.bytes) <= low_b || low_b + static_cast<std::uintptr_t>(b.bytes) <= low_a;
}

bool are_disjoint(const Memory& a, const Memory& b, std::int64_t element_bytes) {
  if (are_apart(a, b)) return true;
  int i = a.count;
  int j = b.count;
  std::int64_t period = 0;
  while (i > 0 && j > 0) {
    const Extent& x = a.axes[static_cast<std::size_t>(i - 1)];
    const Extent& y = b.axes[static_cast<std::size_t>(j - 1)];
    if (x.size != y.size || x.stride != y.stride) break;
    period = x.stride;
    --i;
    --j;
  }
  if (period == 0) return false;
  const auto distance = b.lowest - a.lowest;
  if (distance % element_bytes != 0) return false;
  std::int64_t offset = distance / element_bytes % period;
  if (offset < 0) offset += period;
  return offset >= reach(a, i) && offset + reach(b, j) <= period;
}

}  // namespace posenc::cpu
