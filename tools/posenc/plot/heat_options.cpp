// The words of the kinds that are heat maps.
#include <algorithm>
#include <string>

#include "plot/figures.h"
#include "plot/plot_options.h"
#include "plot/term_word.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestPosition = 1LL << 31;

Command read_encoding(const Given& given) {
  EncodingPlot out;
  out.scheme = given.text_or("--scheme", out.scheme);
  out.table = given.text("--table");
  out.model = model_words(given);
  out.start = given.whole("--start", 0, kLargestPosition).value_or(out.start);
  out.positions = given.whole("--positions", 1, kMostCells).value_or(out.positions);
  out.channels = given.whole("--channels", 1, kMostCells).value_or(out.channels);
  out.products = given.has("--products");
  only_one_of(given, {"--scheme", "--table", "--model"});
  return with_output(given, out);
}

// --head is compared with the scheme's heads when it is drawn (figures/bias_figure.cpp).
Command read_bias(const Given& given) {
  BiasPlot out;
  out.scheme = given.text_or("--scheme", out.scheme);
  out.model = model_words(given);
  out.head = given.whole("--head", 0, INT64_MAX).value_or(out.head);
  // First, as it says how many tokens fit: points of a curve, or cells along a side.
  out.curves = given.has("--curves");
  out.tokens = given.whole("--tokens", 2, out.curves ? kMostPoints : kMostCells).value_or(out.tokens);
  out.both_ways = given.has("--both-ways");
  only_one_of(given, {"--scheme", "--model"});
  return with_output(given, out);
}

Command read_distance(const Given& given) {
  DistancePlot out;
  out.scheme = given.text_or("--scheme", out.scheme);
  out.tokens = given.whole("--tokens", 2, kMostCells).value_or(out.tokens);
  return with_output(given, out);
}

}  // namespace

CommandSpec encoding_spec() {
  return {.name = "encoding",
          .description = "Input position embeddings: what is added to each token, a row per position",
          .options = with_output(
              {{
                   {.names = "--scheme",
                    .value = "S",
                    .description = "sinusoidal (default; ,convention=C ,offset=N), integer (,normalised), binary or "
                                   "learned: a table as it is drawn before training"},
                   {.names = "--table",
                    .value = "FILE",
                    .description = "A learned table [rows, channels]; FILE:TENSOR names one of several"},
               },
               model_options("Whose input stage is drawn"),
               {{.names = "--positions", .value = "N", .description = "How many (default: 64), at most 512"},
                {.names = "--start", .value = "N", .description = "The first of them (default: 0)"},
                {.names = "--channels", .value = "N", .description = "How many (default: 64), at most 512"},
                {.names = "--products", .description = "The dot product of each row with each, instead of the rows"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot encoding -o sines.svg\n"
              "  posenc plot encoding --scheme sinusoidal,convention=tensor2tensor -o sines.svg\n"
              "  posenc plot encoding --products --positions 128 -o alike.svg\n"
              "  posenc plot encoding --scheme binary --channels 6 --json\n\n",
          .read = read_encoding};
}

CommandSpec bias_spec() {
  return {
      .name = "bias",
      .description = "Attention bias by query and key: what is added, or which row of its table is taken",
      .options = with_output(
          {{
               {.names = "--scheme",
                .value = "S",
                .description = "One of those below, with its numbers after commas (default: alibi)"},
           },
           layer_options("Whose scheme is drawn"),
           {{.names = "--head", .value = "N", .description = "Which head, counted from 0 (default: 0)"},
            {.names = "--tokens", .value = "N", .description = "How many (default: 64), at most 512 (4096 of curves)"},
            {.names = "--both-ways", .description = "Bidirectional: keys in the future too, as in an encoder"},
            {.names = "--curves", .description = "By distance, a curve a head, of up to 8 heads; a grid has none"}}}),
      .footer = "Schemes and their numbers, with their defaults:\n" + std::string(kTermNumbers) +
                "symmetric, bidirectional and logarithmic are on when named. By default columns\n"
                "are as many as rows and clamp_length is none. form is logarithmic or\n"
                "power.\n\n"
                "Nothing is learned here. Of a table the row that is taken is drawn, of a\n"
                "MLP what it is asked; r1, r2, c, threshold, asks and every (a gate that\n"
                "opens or forgets at every so many keys) stand for what training would give.\n\n"
                "Examples:\n"
                "  posenc plot bias --scheme alibi,heads=8 --head 3 -o alibi.svg\n"
                "  posenc plot bias --scheme t5 --curves --tokens 200 -o buckets.svg\n"
                "  posenc plot bias --model t5-base --curves --tokens 200 -o t5.svg\n\n",
      .read = read_bias};
}

CommandSpec distance_spec() {
  return {.name = "distance",
          .description = "Distances of queries and keys in RoPE under SelfExtend, ReRoPE or dual chunks",
          .options = with_output(
              {{{.names = "--scheme",
                 .value = "S",
                 .description = "self_extend,group=4,window=16 (default), rerope,window=16 (,step=4: leaky), "
                                "dual_chunk,chunk=24,local=8,trained=32, or none"},
                {.names = "--tokens", .value = "N", .description = "How many (default: 64), at most 512"}}}),
          .footer =
              "Examples:\n"
              "  posenc plot distance -o self-extend.svg\n"
              "  posenc plot distance --scheme rerope,window=8,step=4 -o leaky.svg\n\n",
          .read = read_distance};
}

}  // namespace posenc::tool
