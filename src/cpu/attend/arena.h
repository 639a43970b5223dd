// Memory of a call's threads, taken from one piece and given back with it: nothing is allocated once a call is on its
// way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>

namespace posenc::cpu {

inline constexpr std::int64_t kArenaAlignment = 64;  // a line of the caches, so that no two threads share one

inline std::int64_t whole_lines(std::int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// The caller's scratch was too small: attend() catches it and says how many bytes it takes.
struct ArenaIsFull : std::bad_alloc {};

// Workers take their memory from it when they are constructed, and nothing afterwards. Every piece begins a line,
// whatever alignment is asked for.
//
// What is taken stays taken.
class Arena final : public std::pmr::memory_resource {
 public:
  explicit Arena(std::span<std::byte> memory) : free_(memory) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* first = free_.data();
    std::size_t left = free_.size();
    const auto size = static_cast<std::size_t>(whole_lines(static_cast<std::int64_t>(bytes)));
    if (std::align(kArenaAlignment, size, first, left) == nullptr) throw ArenaIsFull();
    free_ = {static_cast<std::byte*>(first) + size, left - size};
    return first;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::span<std::byte> free_;
};

// The heap, in whole lines as well: a register that is loaded or stored lies in one.
class HeapLines final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    return std::pmr::new_delete_resource()->allocate(bytes, kArenaAlignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, kArenaAlignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// The same in a few large pieces, given back together. Of many small ones glibc returns the pages to the system after
// every call, to be cleared again in the next; once it has seen a piece larger than what it keeps, it keeps twice as
// much (mallopt(3), M_MMAP_THRESHOLD). Decode over 4096 keys takes a few hundred KiB.
class HeapPieces final : public std::pmr::memory_resource {
  static constexpr std::size_t kFirstPiece = std::size_t{512} << 10;

  void* do_allocate(std::size_t bytes, std::size_t) override { return pieces_.allocate(bytes, kArenaAlignment); }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::monotonic_buffer_resource pieces_{kFirstPiece, std::pmr::new_delete_resource()};
};

#if defined(__SANITIZE_ADDRESS__)
using CallHeap = HeapLines;  // each vector apart, so that what is read beyond one is seen
#else
using CallHeap = HeapPieces;
#endif

// Of how many lines an arena must have room for what is taken here, which comes from the heap.
class ArenaSize final : public std::pmr::memory_resource {
 public:
  std::int64_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ += whole_lines(static_cast<std::int64_t>(bytes));
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::int64_t bytes_ = 0;
};

}  // namespace posenc::cpu
