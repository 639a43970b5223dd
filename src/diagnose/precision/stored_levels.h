// Keys that came out of a quantised cache: KIVI (arXiv 2402.02750), transformers' quantised caches.
#pragma once

#include <cstdint>
#include <optional>

#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

// In how many levels each channel comes out at most, nine of ten channels, over as many tokens as share a scale: evenly
// spaced ones, where the format of `after` is fine enough to show that, or 16 at most. Nothing where `before` is so
// too.
std::optional<std::int64_t> stored_levels(const Samples& samples);

}  // namespace posenc::inline v0_2::port
