// Changes JSON by its tokens, so that a change mostly leaves JSON behind: bytes changed at random seldom get past a
// parser, and then no reader of keys and values is ever tried.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace posenc::fuzz {

// `text` with one change, drawn by `seed`: a key or a value replaced, a member doubled, dropped or put in. The same
// seed makes the same change. Text without tokens comes back as it is.
std::string mutate_tokens(std::string_view text, std::uint32_t seed);

}  // namespace posenc::fuzz
