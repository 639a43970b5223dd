// How far the heap grows: link heap_probe.cpp, which replaces operator new and delete, and measure.
#pragma once

#include <cstdint>

namespace posenc::test {

class HeapProbe {
 public:
  HeapProbe();
  // Bytes, at the highest since the probe was made, above what was held when it was made. Of the whole process.
  std::int64_t peak_growth() const;
  // How often memory was taken since.
  std::int64_t allocations() const;

 private:
  std::int64_t before_;
  std::int64_t allocations_before_;
};

// What a JSON text may take, and what is made of any file: plans, lists of tensors.
constexpr std::int64_t json_heap_bound(std::int64_t text_bytes) { return 24 * text_bytes + (std::int64_t{1} << 20); }
constexpr std::int64_t file_heap_bound(std::int64_t file_bytes) { return 64 * file_bytes + (std::int64_t{1} << 20); }

}  // namespace posenc::test
