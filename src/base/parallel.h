// A loop over a range in contiguous parts, on the threads that the caller allows (at::parallel_for of torch is alike).
// posenc/parallel.h is the public side; the pool behind it is base/pool.h, its workers base/crew.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "posenc/parallel.h"

namespace posenc::inline v0_2 {

// Does indexes first ... last - 1.
using RangeBody = void (*)(const void* data, std::int64_t first, std::int64_t last) noexcept;

// Throws Error "[where] ..." for what no call could use. Some nanoseconds.
void check_parallel(std::string_view where, const Parallel& parallel);

// Calls the body for parts that together are 0 ... count - 1, and returns when all have returned. There are as many as
// threads are allowed, or fewer: none has less than `grain` indexes, of which the caller knows how many are worth a
// thread (docs/threads.md). One part is run on the calling thread, as is a call from within a body, and costs a call.
// Allocates nothing, but for the threads when they are first needed.
// `parallel` has passed check_parallel.
void parallel_for(const Parallel& parallel, std::int64_t count, std::int64_t grain, RangeBody body, const void* data);

// The same for a function object: body(first, last), which throws nothing.
template <typename Body>
void parallel_for(const Parallel& parallel, std::int64_t count, std::int64_t grain, const Body& body) {
  static_assert(noexcept(body(std::int64_t{}, std::int64_t{})), "nobody could catch what a body throws");
  const RangeBody call = [](const void* data, std::int64_t first, std::int64_t last) noexcept {
    (*static_cast<const Body*>(data))(first, last);
  };
  parallel_for(parallel, count, grain, call, &body);
}

}  // namespace posenc::inline v0_2
