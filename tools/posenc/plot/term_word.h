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

// For help: each with its numbers, and what holds where they are left out.
// tests/cli/plot_numbers_test.py holds it to the readers of term_word.cpp, number by number.
inline constexpr std::string_view kTermNumbers =
    "  alibi           heads=8 max_bias=8 symmetric\n"
    "  t5              buckets=32 max_distance=128 bidirectional\n"
    "  clipped         past=16 future=16\n"
    "  grid            rows=7 columns=7\n"
    "  kerple          form=logarithmic r1=1 r2=1\n"
    "  fire            c=1 threshold=16\n"
    "  sandwich        heads=8 channels=128\n"
    "  mlp             logarithmic\n"
    "  shaw            left=16 right=16\n"
    "  transformer_xl  clamp_length asks=16\n"
    "  xlnet           clamp_length asks=16\n"
    "  deberta         buckets=0 max_distance=512\n"
    "  decomposed_hw   rows=13\n"
    "  contextual      positions=64 every=8\n"
    "  forget          every=8\n";

// "alibi,heads=8", "t5,buckets=32,max_distance=128". Throws UsageError.
DrawnTerm read_term(const SchemeText& scheme);

}  // namespace posenc::tool
