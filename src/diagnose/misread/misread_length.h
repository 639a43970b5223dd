// Rules that depend on the length of the sequence, as ports get it wrong: dynamic NTK (arXiv 2309.00071) and Qwen 1's.
// src/math/rope/dynamic_ntk.cpp and qwen_ntk.cpp have the right ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/channel_pairs.h"
#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

// The rule's frequencies made of the length `found`.
Change length_change(std::int64_t found, std::optional<std::int64_t> expected);

// Dynamic NTK's stretch without its -(factor - 1), without the factor, or without the exponent dim/(dim - 2), where the
// sequence is longer than the trained length; Qwen's rule at the lengths at which it changes. Nothing for other rules.
std::vector<FrequencyList> misread_length(const Rope& rope, std::optional<std::int64_t> length,
                                          const ChannelPairs& pairs);

}  // namespace posenc::inline v0_2::port
