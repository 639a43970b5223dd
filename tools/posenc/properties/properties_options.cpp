// The words of posenc properties: one view at most, names of schemes, and what fits which view.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/nearest.h"
#include "line/text.h"
#include "posenc/properties.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostTokens = 1 << 12;  // vectors by distance are made to be counted: some seconds

struct View {
  PropertiesView view;
  std::string_view flag;
};
constexpr std::array<View, 6> kViews{{{PropertiesView::list, "--list"},
                                      {PropertiesView::cost, "--cost"},
                                      {PropertiesView::order, "--order"},
                                      {PropertiesView::four_terms, "--four-terms"},
                                      {PropertiesView::decay, "--decay"},
                                      {PropertiesView::noise, "--noise"}}};

// Without a flag the properties. Throws UsageError for two flags.
View view_of(const Given& given) {
  View chosen{PropertiesView::properties, ""};
  for (const View& one : kViews) {
    if (!given.has(one.flag)) continue;
    if (!chosen.flag.empty()) throw UsageError{formatted("{} and {} exclude each other", chosen.flag, one.flag)};
    chosen = one;
  }
  return chosen;
}

const MeasuredScheme& scheme_called(const std::string& word) {
  std::vector<std::string> names;
  for (const MeasuredScheme& scheme : measured_schemes()) {
    if (scheme.name == word) return scheme;
    names.push_back(scheme.name);
  }
  const std::vector<std::string> near = nearest(word, names);
  throw UsageError{formatted(
      "SCHEME: unknown scheme '{}'; {}", printable(word),
      near.empty() ? "posenc properties --list names all" : formatted("did you mean {}?", join(near, " or ")))};
}

// Throws UsageError for a scheme that is not known, and for one that the view has nothing to say of: in a list of names
// it would be missing without a word.
void check_scheme(const std::string& word, const View& view) {
  const MeasuredScheme& scheme = scheme_called(word);
  if (view.view == PropertiesView::decay) {
    throw UsageError{formatted("SCHEME: --decay is about RoPE and a random table, and takes none; got '{}'", word)};
  }
  const bool of_inputs = view.view == PropertiesView::four_terms || view.view == PropertiesView::noise;
  if (of_inputs && scheme.stage != Stage::input) {
    throw UsageError{formatted("SCHEME: {} is about what is added to embeddings, and '{}' is of the {} stage",
                               view.flag, word, name(scheme.stage))};
  }
}

Command read_properties(const Given& given) {
  const View view = view_of(given);
  PropertiesArguments out{.view = view.view, .schemes = given.list("SCHEME"), .json = given.has("--json")};
  for (const std::string& word : out.schemes) check_scheme(word, view);
  if (const auto tokens = given.whole("--tokens", 1, kMostTokens)) {
    if (view.view != PropertiesView::cost) throw UsageError{"--tokens goes with --cost"};
    out.tokens = *tokens;
  }
  return out;
}

}  // namespace

CommandSpec properties_spec() {
  return {.name = "properties",
          .description = "What position encodings are good for, measured on each",
          .options = {{.names = "SCHEME",
                       .description = "Names that --list prints, for these schemes in full (default: all schemes)",
                       .many = true},
                      {.names = "--list", .description = "The schemes, and the numbers that they are measured with"},
                      {.names = "--cost", .description = "Additions, products, parameters and bytes"},
                      {.names = "--tokens",
                       .value = "N",
                       .description =
                           formatted("Of --cost: the sequence length (default: {})", PropertiesArguments{}.tokens)},
                      {.names = "--order", .description = "Two dogs in a sentence, and \"I love you\" read backwards"},
                      {.names = "--four-terms",
                       .description = "The sizes of the four terms of (x_i + p_i) W_Q W_K^T (x_j + p_j)^T"},
                      {.names = "--decay", .description = "The curves behind RoPE's long-term decay"},
                      {.names = "--noise", .description = "How much of the token is left of M x + p after a norm"},
                      {.names = "--json", .description = "As JSON (docs/properties.schema.json)"}},
          .footer =
              "Learned tables are random, of fixed seeds. docs/properties.md defines every\n"
              "number.\n\n"
              "Examples:\n"
              "  posenc properties\n"
              "  posenc properties sinusoidal rope alibi\n"
              "  posenc properties --cost --tokens 4096 rope t5\n"
              "  posenc properties --json | jq '.schemes[] | {name, results}'\n\n",
          .read = read_properties};
}

}  // namespace posenc::tool
