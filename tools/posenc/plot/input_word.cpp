// --scheme for the input stage: sinusoidal, integer and binary, with their numbers (learned: encoding_figure.cpp).
#include "plot/input_word.h"

#include "plot/numbers.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestOffset = 1 << 20;

InputScheme sinusoidal(const SchemeWord& word) {
  check_numbers(word, {"convention", "offset"});
  SinusoidalInput out{.offset = word.numbers.whole("offset", 0, kLargestOffset).value_or(0)};
  // In the order of SinusoidConvention.
  const auto named =
      word.numbers.choice("convention", {"paper", "tensor2tensor", "musicgen", "marian", "whisper", "xlnet"});
  if (named) out.convention = static_cast<SinusoidConvention>(*named);
  return out;
}

// `normalised`: over the sequence's length, which encoding_figure.cpp takes to end with the positions drawn.
InputScheme integer(const SchemeWord& word) {
  check_numbers(word, {"normalised", "offset"});
  return IntegerInput{.normalised = Numbers(word).yes("normalised"),
                      .offset = word.numbers.whole("offset", 0, kLargestOffset).value_or(0)};
}

InputScheme binary(const SchemeWord& word) {
  check_numbers(word, {"offset"});
  return BinaryInput{.offset = word.numbers.whole("offset", 0, kLargestOffset).value_or(0)};
}

InputScheme input_scheme(const SchemeWord& word) {
  if (word.name == "sinusoidal") return sinusoidal(word);
  if (word.name == "integer") return integer(word);
  if (word.name == "binary") return binary(word);
  if (word.name == "learned") {  // encoding_figure.cpp draws it without asking here, where it has no numbers
    check_numbers(word, {});
  }
  unknown_scheme(word, {"sinusoidal", "integer", "binary", "learned"});
}

}  // namespace

InputScheme read_input_scheme(const SchemeText& scheme) { return read_scheme(scheme, input_scheme); }

}  // namespace posenc::tool
