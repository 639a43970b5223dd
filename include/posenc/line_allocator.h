// Memory of containers that begins a line of the caches, 64 bytes: a vector register is then loaded from one line.
#pragma once

#include <cstddef>
#include <new>

namespace posenc::inline v0_2 {

template <typename T>
class LineAllocator {
 public:
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): what allocators have

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, kLine); }

  bool operator==(const LineAllocator&) const = default;
};

}  // namespace posenc::inline v0_2
