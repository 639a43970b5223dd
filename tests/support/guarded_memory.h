// Memory with a page before and a page after it that nobody may touch.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace posenc::test {

// At which of the forbidden pages the bytes lie.
enum class Edge : std::uint8_t { begin, end };

// `bytes` of memory `gap` bytes after the page before, or before the page after. What else there is on the pages
// between is for a test to fill and to find unchanged.
class GuardedMemory {
 public:
  GuardedMemory(std::int64_t bytes, Edge edge, std::int64_t gap) {
    const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    size_ = (bytes + gap + page - 1) / page * page;
    mapped_ = static_cast<std::size_t>(size_ + 2 * page);
    map_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(map_) + page;
    if (size_ > 0 && mprotect(begin_, static_cast<std::size_t>(size_), PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
    data_ = edge == Edge::begin ? begin_ + gap : begin_ + size_ - gap - bytes;
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(map_, mapped_); }

  std::byte* data() noexcept { return data_; }

  // Everything between the two pages.
  std::byte* begin() noexcept { return begin_; }
  std::byte* end() noexcept { return begin_ + size_; }
  std::vector<std::byte> copy() const { return {begin_, begin_ + size_}; }

 private:
  void* map_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* begin_ = nullptr;
  std::int64_t size_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace posenc::test
