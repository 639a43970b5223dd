// The words of a mask (Mask::detail) and what they come to for which keys are seen, said together: a row with a text
// alone does not compile.
#pragma once

#include <cstdint>
#include <string_view>

#include "posenc/plan.h"

namespace posenc::plan {

enum class Sees : std::uint8_t {
  as_masked,      // what the mask's kind, window and chunk say, and no key beyond
  beyond_window,  // some keys outside the window and the chunk too
  by_blocks,      // keys by where blocks of the sequence begin; outside a window too
};

struct MaskWords {
  constexpr MaskWords() = default;
  constexpr MaskWords(std::string_view words, Sees seen) : text(words), sees(seen) {}

  std::string_view text{};  // empty: nothing to say
  Sees sees = Sees::as_masked;
};

constexpr void set_sees(Sees sees, Mask& mask) {
  mask.beyond_window = sees != Sees::as_masked;
  mask.by_blocks = sees == Sees::by_blocks;
}

// Gemma 3 and 4.
inline constexpr MaskWords kImageWithinWindow{"the tokens of one image see each other both ways, within the window",
                                              Sees::as_masked};

}  // namespace posenc::plan
