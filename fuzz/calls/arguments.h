// The bytes of an input as arguments of a call: numbers, choices, enumerators.
//
// Each takes a byte or two. Where the bytes have run out there are zeros, and 0 stands for what is usual: the empty
// input is a plain call, and each byte changes one thing of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace posenc::fuzz {

class Arguments {
 public:
  explicit Arguments(std::string_view bytes) noexcept : bytes_(bytes) {}

  std::uint8_t byte() noexcept {
    if (bytes_.empty()) return 0;
    const auto next = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return next;
  }
  // From low to high, both included, which are at most 255 apart; 0 is low.
  std::int64_t whole(std::int64_t low, std::int64_t high) noexcept { return low + byte() % (high - low + 1); }
  // For so many of 256 bytes.
  bool chance(int of_256) noexcept { return 255 - byte() < of_256; }
  template <typename T, std::size_t N>
  const T& choice(const std::array<T, N>& list) noexcept {
    return list[byte() % N];
  }
  // One in 16 may be a number that stands for nothing.
  template <typename E>
  E enumerator(E last) noexcept {
    if (chance(16)) return static_cast<E>(byte());
    return static_cast<E>(byte() % (static_cast<int>(last) + 1));
  }
  // Those at which something ends: a type, the whole numbers of a double, a size.
  std::int64_t odd_whole() noexcept;
  double odd_real() noexcept;
  // How many things of a call are to be spoilt: mostly none.
  int spoils() noexcept {
    const int drawn = byte();
    return drawn < 112 ? 0 : drawn < 224 ? 1 : drawn < 248 ? 2 : 3;
  }

 private:
  std::string_view bytes_;
};

}  // namespace posenc::fuzz
