// Specimens of the input stage: sinusoids (arXiv 1706.03762), learned tables (GPT-2, BERT), the integer and the binary
// encoding of textbooks.

#include <algorithm>

#include "properties/specimens.h"

namespace posenc::properties {
namespace {

Entry of_input(std::string name, std::string about, const InputScheme& scheme) {
  return {{std::move(name), Stage::input, std::move(about)},
          [=](const Size& size, Tables&) { return Specimen{.input = scheme, .layer = plain_layer(size)}; }};
}

}  // namespace

// As many rows as places are asked for, and none beyond: its `end`.
std::vector<Entry> entries_of(Kind<LearnedInput>) {
  return {{{"learned", Stage::input, "a table with a row for each place"}, [](const Size& size, Tables& tables) {
             return Specimen{.input = LearnedInput{.positions = size.places},
                             .input_table = tables.normal({size.places, size.channels()}),
                             .layer = plain_layer(size),
                             .end = size.places};
           }}};
}

std::vector<Entry> entries_of(Kind<SinusoidalInput>) {
  return {of_input("sinusoidal", "the paper's convention", SinusoidalInput{})};
}

std::vector<Entry> entries_of(Kind<IntegerInput>) {
  return {of_input("integer", "the place in every channel", IntegerInput{}),
          of_input("integer-normalised", "over the length", IntegerInput{.normalised = true})};
}

std::vector<Entry> entries_of(Kind<BinaryInput>) {
  return {{{"binary", Stage::input, "a bit a channel"}, [](const Size& size, Tables&) {
             constexpr std::int64_t kBits = 62;  // of places that are not too large to count
             return Specimen{.input = BinaryInput{},
                             .layer = plain_layer(size),
                             .end = std::int64_t{1} << std::min(size.channels(), kBits)};
           }}};
}

}  // namespace posenc::properties
