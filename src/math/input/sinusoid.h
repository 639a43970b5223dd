// Which sine or cosine a channel of a sinusoidal encoding has, in each of the conventions that checkpoints use (arXiv
// 1706.03762, 3.5; sinusoid.cpp lists them).
#pragma once

#include <cstdint>
#include <optional>

#include "posenc/error.h"
#include "posenc/schemes.h"

namespace posenc::math {

struct Sinusoid {
  enum class Wave : std::uint8_t { sine, cosine, nothing };
  Wave wave = Wave::nothing;
  double inv_freq = 0.0;  // radians per position
};

// `channel` of `channels`, which check_sinusoid_channels() has passed.
Sinusoid sinusoid(SinusoidConvention convention, std::int64_t channels, std::int64_t channel);

// Whether the frequencies of a convention end at 1/10000 exactly, of d channels d/2 of them.
bool ends_at_base(SinusoidConvention convention);

std::optional<Problem> check_sinusoid_channels(SinusoidConvention convention, std::int64_t channels);

}  // namespace posenc::math
