#include "support/heap_probe.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> held{0};
std::atomic<std::int64_t> peak{0};
std::atomic<std::int64_t> taken{0};

void* take_or_null(std::size_t size) noexcept {
  void* block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) return nullptr;
  ++taken;
  const std::int64_t now = held += static_cast<std::int64_t>(malloc_usable_size(block));
  std::int64_t highest = peak;
  while (now > highest && !peak.compare_exchange_weak(highest, now)) {
  }
  return block;
}

void* take(std::size_t size) {
  void* block = take_or_null(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void give_back(void* block) noexcept {
  held -= static_cast<std::int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace

// The aligned forms stay as they are: nothing that is measured uses them.
void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take_or_null(size); }
void operator delete(void* block) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }

namespace posenc::test {

HeapProbe::HeapProbe() : before_(held), allocations_before_(taken) { peak = before_; }
std::int64_t HeapProbe::peak_growth() const { return peak - before_; }
std::int64_t HeapProbe::allocations() const { return taken - allocations_before_; }

}  // namespace posenc::test
