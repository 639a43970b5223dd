// Arithmetic on sizes and offsets that come from a file: nothing where the result would not fit 64 bits.
//
// The only + and * that a file's numbers meet. (GGUF readers in the wild were broken again and again by a product that
// wrapped, and by a guard that looked at the product after it had wrapped.)
#pragma once

#include <cstdint>
#include <optional>

namespace posenc::inline v0_2 {

inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t sum = a + b;  // unsigned: wraps, and is smaller then
  if (sum < a) return {};
  return sum;
}

inline std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  if (a != 0 && b > UINT64_MAX / a) return {};
  return a * b;
}

// The next multiple of `step`, a power of two.
inline std::optional<std::uint64_t> checked_pad(std::uint64_t size, std::uint64_t step) noexcept {
  const std::optional<std::uint64_t> sum = checked_add(size, step - 1);
  if (!sum) return {};
  return *sum & ~(step - 1);
}

}  // namespace posenc::inline v0_2
