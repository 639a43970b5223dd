// Bytes in as many parts as there are threads, each on one of them: how the limits of a machine are measured on several
// of its cores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "posenc/parallel.h"

namespace posenc::tool {

inline constexpr std::size_t kBlockBytes = 512;  // that the loops over lines take at a time (bench/xor_in_place.h)

// Rounded up to whole blocks: the loops over lines have no tail.
inline std::size_t whole_blocks(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

// The bytes are only counted here: what is done to them, and where they are, is the caller's.
class ByteParts {
 public:
  // Without a pool all bytes are one part, on the calling thread.
  explicit ByteParts(const ThreadPool* pool) : executor_(pool == nullptr ? Executor{} : pool->executor()) {}

  // part(from, count) once for each thread, on that thread; a part may be empty, `from` and `count` are multiples of
  // kBlockBytes. `bytes` has to be one too (whole_blocks), or its end would be left out.
  void run(std::size_t bytes, const std::function<void(std::size_t from, std::size_t count)>& part) const {
    if (executor_.run == nullptr) return part(0, bytes);
    const auto parts = static_cast<std::size_t>(executor_.threads);
    Work work{part, bytes, (bytes / kBlockBytes + parts - 1) / parts * kBlockBytes};
    executor_.run(executor_.context, executor_.threads, &ByteParts::run_part, &work);
  }
  std::int64_t threads() const { return executor_.run == nullptr ? 1 : executor_.threads; }
  // The same threads, for a call of the library that is timed beside run().
  Parallel parallel() const {
    return executor_.run == nullptr ? Parallel{.threads = 1} : Parallel{.executor = executor_};
  }

 private:
  // What each task of the executor is given; `each`: the bytes of a part, of which the last may have fewer.
  struct Work {
    const std::function<void(std::size_t, std::size_t)>& part;
    std::size_t bytes;
    std::size_t each;
  };
  static void run_part(void* data, std::int64_t index) {
    const auto& work = *static_cast<const Work*>(data);
    const std::size_t from = std::min(static_cast<std::size_t>(index) * work.each, work.bytes);
    work.part(from, std::min(work.each, work.bytes - from));
  }

  Executor executor_;
};

}  // namespace posenc::tool
