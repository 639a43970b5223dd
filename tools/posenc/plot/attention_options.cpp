// The words of posenc plot attention.
// The help repeats the defaults of attended_words.cpp (base, scale_base, cap, logit) and of term_word.cpp (heads).
#include "plot/plot_options.h"

namespace posenc::tool {
namespace {

Command read_attention(const Given& given) {
  AttentionPlot out;
  out.scheme = given.text_or("--scheme", out.scheme);
  out.words = given.text_or("--words", out.words);
  out.both_ways = given.has("--both-ways");
  return with_output(given, out);
}

}  // namespace

CommandSpec attention_spec() {
  return {.name = "attention",
          .description = "Attention weights among a few words, without a scheme and with it",
          .options = with_output(
              {{{.names = "--scheme",
                 .value = "S",
                 .description = "rope (default; ,base=10000), xpos (,scale_base=512), sinusoidal, alibi "
                                "(,heads=8), kerple, sandwich, linear, soft_cap,cap=2 or sink,logit=4"},
                {.names = "--words",
                 .value = "TEXT",
                 .description = "2 to 20 words with spaces between them; the same word has the same vector"},
                {.names = "--both-ways", .description = "Without a causal mask"}}}),
          .footer =
              "Queries and keys are the words' own vectors, random but always the same: a\n"
              "word attends to its like.\n\n"
              "Examples:\n"
              "  posenc plot attention --both-ways -o order.svg\n"
              "  posenc plot attention --scheme alibi --words \"a b a b a b\" -o recent.svg\n\n",
          .read = read_attention};
}

}  // namespace posenc::tool
