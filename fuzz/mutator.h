// Changes an input as its format allows, so that a change mostly leaves the format behind: bytes changed at random
// seldom get past a parser, and then what reads keys and values is never tried. Each target is linked with one of
//
//   token_mutator.cpp            JSON: a key or a value replaced, a member doubled, dropped or put in
//   gguf_mutator.cpp             GGUF: the same with records, counts and types
//   calls/argument_mutator.cpp   arguments of a call (calls/arguments.h): bytes become others, and stay where they are
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace posenc::fuzz {

// `bytes` with one change, drawn by `seed`: the same seed makes the same change. What is not of the format at all comes
// back as it is.
std::string mutate(std::string_view bytes, std::uint32_t seed);

}  // namespace posenc::fuzz
