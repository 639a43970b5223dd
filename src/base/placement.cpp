// sched_setaffinity(2) for workers: base/placement.h says why. Where the caller's affinity or the system forbids it,
// the worker is left where it is; nothing fails.
#include "base/placement.h"

namespace posenc::inline v0_2 {
namespace {

cpu_set_t without(cpu_set_t cores, int core) {
  if (core >= 0) CPU_CLR(static_cast<std::size_t>(core), &cores);
  return cores;
}

}  // namespace

// More than 1024 cores are refused, and nobody is moved.
Placement::Placement(std::int64_t workers) noexcept
    : moves_(workers > 0 && sched_getaffinity(0, sizeof cores_, &cores_) == 0 && CPU_COUNT(&cores_) > workers) {}

void Placement::keep_off_this_core(pthread_t thread, Worker& worker) const noexcept {
  if (!moves_ || worker.is_left_alone) return;
  const int core = sched_getcpu();
  if (core < 0 || core == worker.off || !CPU_ISSET(static_cast<std::size_t>(core), &cores_)) return;
  cpu_set_t seen{};
  const cpu_set_t own = without(cores_, worker.off);
  const cpu_set_t wanted = without(cores_, core);
  const bool is_as_left = pthread_getaffinity_np(thread, sizeof seen, &seen) == 0 && CPU_EQUAL(&seen, &own);
  worker.is_left_alone = !is_as_left || pthread_setaffinity_np(thread, sizeof wanted, &wanted) != 0;
  worker.off = core;
}

}  // namespace posenc::inline v0_2
