// Memory for the length of a call: on the stack up to kSmall elements, which every real model stays below, else on the
// heap. Not initialised.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace posenc::cpu {

template <typename T, std::int64_t kSmall>
class Scratch {
 public:
  explicit Scratch(std::int64_t size) {
    if (size > kSmall) large_.resize(static_cast<std::size_t>(size));
  }
  T* data() noexcept { return large_.empty() ? small_.data() : large_.data(); }

 private:
  std::array<T, kSmall> small_;
  std::vector<T> large_;
};

}  // namespace posenc::cpu
