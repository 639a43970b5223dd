// How much of a register a load or a store covers: all of it, or the first n lanes (the tail of a row). Two types, so
// that a loop is written once and compiled for both, and no branch is left in the full one.
#pragma once

#include <cstdint>

namespace posenc::kernels {
namespace {  // templates over these must not leave the object

struct All {};
struct Some {
  std::int64_t n;
};

// What a store leaves open about its exactness: nothing.
struct Sure {
  static constexpr bool is_open() noexcept { return false; }
};

// What store_sums makes of the sums of a row, four lanes of floats, before it stores them: nothing.
struct AsTheyAre {
  template <class Four>
  Four operator()(std::int64_t, Four sums) const noexcept {
    return sums;
  }
};

// k times as many lanes.
template <std::int64_t k, class Count>
Count scaled(Count count) noexcept {
  if constexpr (requires { count.n; }) count.n *= k;
  return count;
}

// The share of the first and of the second of two registers.
template <class V, class Count>
Count first_part(Count count) noexcept {
  if constexpr (requires { count.n; }) count.n = count.n < V::kLanes ? count.n : V::kLanes;
  return count;
}
template <class V, class Count>
Count second_part(Count count) noexcept {
  if constexpr (requires { count.n; }) count.n = count.n < V::kLanes ? 0 : count.n - V::kLanes;
  return count;
}

}  // namespace
}  // namespace posenc::kernels
