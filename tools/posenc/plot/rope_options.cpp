// The words of the kinds that are about a rotation.
#include <string>
#include <vector>

#include "line/text.h"
#include "plot/figures.h"
#include "plot/plot_options.h"

namespace posenc::tool {
namespace {

// 16 dials are four rows of four (dials.cpp). With a start and a step of 2^31 the last of 16 hands is at position 2^35;
// cos_sin takes positions up to 2^53.
constexpr std::int64_t kMostPairs = 16;
constexpr std::int64_t kMostHands = 16;
constexpr std::int64_t kLargestStep = 1LL << 31;

// --trained is an option of wavelengths alone, and never given for the others.
RopeWords rope_words(const Given& given) {
  RopeWords out;
  out.scheme = given.text_or("--scheme", out.scheme);
  out.model = model_words(given);
  out.length = given.whole("--length", 1, kLargestLength);
  out.trained = given.whole("--trained", 1, kLargestLength);
  only_one_of(given, {"--scheme", "--model"});
  only_one_of(given, {"--trained", "--model"});
  return out;
}

// What all three kinds take.
std::vector<OptionSpec> rope_options() {
  return joined({{{.names = "--scheme", .value = "S", .description = "RoPE (default: rope,base=10000,dim=128)"}},
                 layer_options("Whose RoPE is drawn"),
                 {{.names = "--rotation", .value = "N", .description = "Which of a layer's rotations, counted from 0"},
                  {.names = "--length",
                   .value = "N",
                   .description = "Sequence length in tokens, for scaling rules that depend on it (default: a "
                                  "model's trained length)"}}});
}

Command read_wavelengths(const Given& given) { return with_output(given, WavelengthsPlot{rope_words(given)}); }

// Names of rules are checked when they are drawn (figures/scaling_figure.cpp), and so is a factor of 0.
Command read_scaling(const Given& given) {
  ScalingPlot out{.rope = rope_words(given)};
  if (const auto rules = given.text("--rules")) out.rules = split(*rules);
  out.factor = given.from_zero("--factor").value_or(out.factor);
  out.original_length = given.whole("--original-length", 1, kLargestLength).value_or(out.original_length);
  for (const char* flag : {"--rules", "--factor", "--original-length"}) only_one_of(given, {"--model", flag});
  return with_output(given, out);
}

Command read_rotation(const Given& given) {
  RotationPlot out{.rope = rope_words(given)};
  out.pairs = given.whole("--pairs", 1, kMostPairs).value_or(out.pairs);
  out.positions = given.whole("--positions", 1, kMostHands).value_or(out.positions);
  out.start = given.whole("--start", 0, kLargestStep).value_or(out.start);
  out.step = given.whole("--step", 1, kLargestStep).value_or(out.step);
  return with_output(given, out);
}

}  // namespace

CommandSpec wavelengths_spec() {
  return {.name = "wavelengths",
          .description = "Wavelength of each RoPE pair, in positions",
          .options = with_output({rope_options(),
                                  {{.names = "--trained",
                                    .value = "N",
                                    .description = "Beside --scheme: the trained length, in "
                                                   "tokens; a model's files say it"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot wavelengths --model llama-3.1-8b -o wavelengths.svg\n"
              "  posenc plot wavelengths --scheme rope,base=500000 --trained 8192 --json\n\n",
          .read = read_wavelengths};
}

CommandSpec scaling_spec() {
  return {
      .name = "scaling",
      .description = "RoPE scaling: inv_freq under a scaling rule over inv_freq without it",
      .options = with_output(
          {rope_options(),
           {{.names = "--rules", .value = "LIST", .description = "Beside --scheme (default: linear,ntk,yarn,llama3)"},
            {.names = "--factor", .value = "X", .description = "Of all of these (alpha of ntk) (default: 8)"},
            {.names = "--original-length",
             .value = "N",
             .description = "Of yarn and llama3, in tokens (default: 8192)"}}}),
      .footer =
          "A model's rule that depends on the length is drawn at the lengths where that\n"
          "shows, or at --length.\n\n"
          "Examples:\n"
          "  posenc plot scaling --scheme rope,base=500000 -o rules.svg\n"
          "  posenc plot scaling --model phi-3.5-mini -o longrope.svg\n\n",
      .read = read_scaling};
}

CommandSpec rotation_spec() {
  return {.name = "rotation",
          .description = "Pairs of channels in the plane, rotated to several positions",
          .options = with_output(
              {rope_options(),
               {{.names = "--pairs", .value = "N", .description = "How many, evenly spread (default: 8), at most 16"},
                {.names = "--positions", .value = "N", .description = "How many (default: 6), at most 16"},
                {.names = "--start", .value = "N", .description = "The first of them (default: 0)"},
                {.names = "--step", .value = "N", .description = "From one to the next (default: 1)"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot rotation -o rotation.svg\n"
              "  posenc plot rotation --model gemma-3-4b --layer 5 --step 1000 -o far.svg\n\n",
          .read = read_rotation};
}

}  // namespace posenc::tool
