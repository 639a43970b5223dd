// Schemes of the score stage from the command line, under the names that a plan's JSON has for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plot/scheme_word.h"
#include "posenc/schemes.h"

namespace posenc::tool {

// A term, and what takes the place of what a model would have learned.
struct DrawnTerm {
  ScoreTerm term;
  std::int64_t heads = 1;
  double r1 = 1.0;  // KERPLE
  double r2 = 1.0;
  double c = 1.0;          // FIRE
  double threshold = 1.0;  // FIRE's L
  std::int64_t asks = 16;  // Transformer-XL: the distance that v stands for
  std::int64_t every = 8;  // CoPE counts every so many tokens; FoX forgets at every so many
};

inline constexpr std::string_view kTermNames =
    "alibi, t5, clipped, grid, kerple, fire, sandwich, mlp, shaw, transformer_xl, xlnet, deberta, decomposed_hw, "
    "contextual, forget";

// "alibi,heads=8", "t5,buckets=32,max_distance=128". Throws UsageError.
DrawnTerm read_term(const SchemeText& scheme);

}  // namespace posenc::tool
