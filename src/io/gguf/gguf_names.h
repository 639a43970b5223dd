// Finds a name that stands twice among up to a million, in 16 bytes each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace posenc::io {

class GgufNames {
 public:
  // `offset` is where the name stands, in bytes, for the error.
  void add(std::string_view name, std::uint64_t offset);
  // The offsets of the earliest pair of equal names. Names are compared by a 64-bit hash: of a million different ones,
  // two are taken for equal in one file of 37 million.
  // (n^2 / 2 pairs of n = 10^6, each equal with 2^-64: 2.7e-8.)
  std::optional<std::pair<std::uint64_t, std::uint64_t>> repeated();

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen_;  // hash, offset
};

}  // namespace posenc::io
