// Details of masks that say of what keys and values are made, or how far a window holds: written by the families, read
// by src/reuse, which cannot say how far a key reaches where a text is not among these.
#pragma once

#include <string_view>

namespace posenc::plan {

// Inkling: four short convolutions, of as many tokens as a key of the file says; those behind attention and the MLP
// mix in tokens too.
inline constexpr std::string_view kKeysOfShortConvolution =
    "keys and values are made of a token and those before it, by a short convolution";
// Baichuan-M1: a convolution of two.
inline constexpr std::string_view kKeysOfTokenBefore =
    "keys and values are made of a token and the one before it, by a convolution, before they rotate";
// Zaya: transformers' Zaya projects half of each value's channels from the token before (v_proj_delayed).
inline constexpr std::string_view kKeysOfTwoConvolutions =
    "queries and keys are made of a token and the two before it, by two convolutions; half of each value is of the "
    "token before";

// Gemma 3 and 4.
inline constexpr std::string_view kImageWithinWindow =
    "the tokens of one image see each other both ways, within the window";

}  // namespace posenc::plan
