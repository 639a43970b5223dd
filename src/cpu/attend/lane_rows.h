// A block's numbers, [channels][lanes] as kernels have them, and one row for each lane, as tensors do: the transposes
// of the backward pass, whose rows have widths of their own (kernels/transpose_loop.h has those of the forward pass).
#pragma once

#include <cstdint>

namespace posenc::cpu {

// Four by four numbers at a time, which stay in registers; channel by channel, since that side comes from the second
// cache: lane by lane, its lines come one at a time, and five times as slowly.
template <typename Move>
void for_lanes_and_channels(std::int64_t lanes, std::int64_t channels, const Move& move) {
  constexpr std::int64_t kSide = 4;
  const std::int64_t whole = channels - channels % kSide;
  const std::int64_t squares = lanes - lanes % kSide;
  for (std::int64_t c = 0; c < whole; c += kSide) {
    for (std::int64_t l = 0; l < squares; l += kSide) {
      for (std::int64_t i = 0; i < kSide; ++i) {
        for (std::int64_t j = 0; j < kSide; ++j) move(l + i, c + j);
      }
    }
    for (std::int64_t l = squares; l < lanes; ++l) {
      for (std::int64_t j = 0; j < kSide; ++j) move(l, c + j);
    }
  }
  for (std::int64_t c = whole; c < channels; ++c) {
    for (std::int64_t l = 0; l < lanes; ++l) move(l, c);
  }
}

}  // namespace posenc::cpu
