#include "fuzz/calls/checked_call.h"

#include <vector>

namespace posenc::fuzz {
namespace {

// Each element of one where the other has it. A stride of an axis with one element may be anything.
bool are_in_one_place(const ConstTensorView& a, const ConstTensorView& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(a.rank); ++axis) {
    if (a.shape[axis] != b.shape[axis] || (a.shape[axis] > 1 && a.strides[axis] != b.strides[axis])) return false;
  }
  return true;
}

}  // namespace

Isa isa_of(Arguments& arguments) {
  static const std::vector<Isa> supported = supported_isas();
  const std::uint8_t drawn = arguments.byte();
  if (drawn >= 0xF8) return static_cast<Isa>(arguments.byte());
  return drawn == 0 ? Isa::automatic : supported[drawn % supported.size()];
}

Executor backwards() {
  return {.run =
              [](void*, std::int64_t tasks, Task task, void* data) {
                while (tasks-- > 0) task(data, tasks);
              },
          .threads = 3};
}

Parallel parallel_of(Arguments& arguments) {
  switch (arguments.byte() % 16) {
    case 13: return {.threads = 3, .executor = backwards()};
    case 14: return {.threads = arguments.odd_whole(), .executor = backwards()};
    case 15: {
      Parallel out{.executor = backwards()};
      out.executor.threads = arguments.odd_whole();
      return out;
    }
    default: return {.threads = 1};
  }
}

void must_be_apart(std::span<const TensorView> written, std::span<const ConstTensorView> read) {
  for (std::size_t n = 0; n < written.size(); ++n) {
    for (const TensorView& other : written.first(n)) {
      must(!Slots::share(written[n], other), "two tensors that are written share no memory");
    }
    for (const ConstTensorView& other : read) {
      if (are_in_one_place(other, written[n])) continue;
      must(!Slots::share(written[n], other), "what is written is not read as something else");
    }
  }
}

}  // namespace posenc::fuzz
