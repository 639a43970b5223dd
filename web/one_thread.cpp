// A browser's page has one thread, and one kind of kernel.
#include "base/parallel.h"
#include "cpu/machine/dispatch.h"
#include "kernels/kernels.h"

namespace posenc::inline v0_2 {

void check_parallel(std::string_view, const Parallel&) {}

void parallel_for(const Parallel&, std::int64_t count, std::int64_t, RangeBody body, const void* data) {
  if (count > 0) body(data, 0, count);
}

}  // namespace posenc::inline v0_2

namespace posenc::cpu {

// Of tables alone: what rotates and attends is not compiled.
const kernels::KernelTable& kernels_for(std::string_view, Isa) {
  static constexpr kernels::KernelTable kScalar{kernels::angles_scalar, nullptr, nullptr, nullptr, nullptr, nullptr};
  return kScalar;
}

}  // namespace posenc::cpu
