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

// The length before scaling, of rules that have it: YaRN, Llama 3, LongRoPE.
std::optional<std::int64_t> original_length(const Rope& rope);
// Up to which wavelengths and tables are judged: the trained length, or what YaRN stretches the original one to, where
// that is more (a file whose max_position_embeddings is the length before scaling).
std::optional<std::int64_t> served_length(const Rope& rope, std::optional<std::int64_t> trained);

}  // namespace posenc::tool
