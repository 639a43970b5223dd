// Tasks of a call that differ in size (sequences of different lengths, causal blocks), each done by whichever thread is
// free: an atomic counter over the list.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

// How many threads a call may use.
inline std::int64_t threads_of(const Parallel& parallel) {
  if (parallel.threads == 1) return 1;
  const std::int64_t all = parallel.executor.run == nullptr ? default_threads() : parallel.executor.threads;
  return std::max<std::int64_t>(parallel.threads == 0 ? all : std::min(all, parallel.threads), 1);
}

// Calls body(worker, n) for each n below count: whoever is free takes the next. One worker a thread; no more of them
// are woken than there is to do.
template <typename Worker, typename Body>
void run_tasks(const Parallel& parallel, std::vector<Worker>& workers, std::int64_t count, const Body& body) {
  std::atomic<std::int64_t> next{0};
  parallel_for(parallel, std::min<std::int64_t>(std::ssize(workers), count), 1,
               [&](std::int64_t first, std::int64_t last) noexcept {
                 for (std::int64_t w = first; w < last; ++w) {
                   for (std::int64_t n = next.fetch_add(1); n < count; n = next.fetch_add(1))
                     body(workers[index(w)], n);
                 }
               });
}

}  // namespace posenc::cpu
