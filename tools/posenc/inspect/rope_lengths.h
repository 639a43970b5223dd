// Scaling rules that depend on the sequence's length: for which length a rotation is shown, and what holds there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posenc/rope.h"

namespace posenc::tool {

// Where it shows that the frequencies depend on the length: at up to three lengths. Empty: they do not.
std::vector<std::int64_t> telling_lengths(const Rope& rope);

// The length that was asked for; else the trained one, which is what the model is for; none where there is neither, or
// where the rule breaks down at the trained one.
std::optional<std::int64_t> shown_length(const Rope& rope, std::optional<std::int64_t> asked,
                                         std::optional<std::int64_t> trained);

// "long_factor (beyond 4096 tokens)": what a rule takes at that length, and where else it does. Empty for a rule that
// does not depend on the length.
std::string length_text(const Rope& rope, std::optional<std::int64_t> length);

}  // namespace posenc::tool
