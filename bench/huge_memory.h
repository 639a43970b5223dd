// Memory on huge pages where the system gives them: with small ones, much of what is measured is the page walk.
#pragma once

#include <sys/mman.h>  // mmap, madvise: Linux

#include <cstddef>
#include <new>

namespace posenc::bench {

// Owns a mapping of its own, a huge page larger than asked for, so that data() can be put where it is wanted.
class HugeMemory {
 public:
  // The first byte stands `offset` bytes after the start of a huge page. Every page is touched.
  // Two tensors of one benchmark get different offsets: loads and stores 4 KiB apart would wait for each other.
  explicit HugeMemory(std::size_t bytes, std::size_t offset = 0)
      : mapped_(bytes + offset + kPage), memory_(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, kAnonymous, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    madvise(memory_, mapped_, MADV_HUGEPAGE);
    const auto misalignment = reinterpret_cast<std::size_t>(memory_) % kPage;
    data_ = static_cast<char*>(memory_) + (kPage - misalignment) % kPage + offset;
    for (std::size_t i = 0; i < bytes; i += kSmallPage) data_[i] = 0;
  }
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory() { munmap(memory_, mapped_); }

  char* data() const noexcept { return data_; }

 private:
  // 2 MiB, and the page that a system without huge ones has.
  static constexpr std::size_t kPage = std::size_t{2} << 20U;
  static constexpr std::size_t kSmallPage = 4096;
  static constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

  // Bytes of the mapping, and where it begins.
  std::size_t mapped_;
  void* memory_;
  char* data_ = nullptr;
};

}  // namespace posenc::bench
