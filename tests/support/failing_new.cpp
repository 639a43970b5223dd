#include "support/failing_new.h"

#include <cstdlib>
#include <new>

namespace {

// How many calls are left before one fails; below 0: none does. Calls run on this thread alone.
std::int64_t left = -1;
bool goes_on = false;
bool has_failed = false;

// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is what is below new.
void* take(std::size_t size, std::size_t alignment = 0) {
  if (left == 0) {
    if (!goes_on) left = -1;
    has_failed = true;
    throw std::bad_alloc();
  }
  if (left > 0) --left;
  void* const block = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                     : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* take_or_null(std::size_t size, std::size_t alignment = 0) noexcept {
  try {
    return take(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void* operator new(std::size_t size, std::align_val_t at) { return take(size, static_cast<std::size_t>(at)); }
void* operator new[](std::size_t size, std::align_val_t at) { return take(size, static_cast<std::size_t>(at)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take_or_null(size); }
void* operator new(std::size_t size, std::align_val_t at, const std::nothrow_t&) noexcept {
  return take_or_null(size, static_cast<std::size_t>(at));
}
void* operator new[](std::size_t size, std::align_val_t at, const std::nothrow_t&) noexcept {
  return take_or_null(size, static_cast<std::size_t>(at));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace posenc::test {

void fail_new(std::int64_t after, bool all) {
  goes_on = all;
  has_failed = false;
  left = after;
}
bool stop_failing_new() {
  left = -1;
  return has_failed;
}

}  // namespace posenc::test
