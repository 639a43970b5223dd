// The words of posenc plot: options that all kinds share, and a function for each kind's own.
#include <algorithm>
#include <vector>

#include "command_spec.h"
#include "plot/figures.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLargestPosition = 1LL << 31;

PlotArguments with_output(const Given& given, decltype(PlotArguments::plot) plot) {
  PlotArguments out{.plot = std::move(plot),
                    .out = given.text("--output"),
                    .force = given.has("--force"),
                    .json = given.has("--json")};
  if (out.force && !out.out) throw UsageError{"--force: there is no -o whose file it could replace"};
  return out;
}

std::vector<OptionSpec> with_output(std::vector<OptionSpec> own) {
  const std::vector<OptionSpec> shared{
      {.names = "-o,--output", .value = "FILE", .description = "Where to; standard output when left out"},
      {.names = "--force", .description = "Replace FILE if it is there"},
      {.names = "--json", .description = "The numbers that are drawn, as JSON, instead of the picture"}};
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

const OptionSpec kModel{.names = "--model", .value = "MODEL", .description = "What inspect takes"};
const OptionSpec kStack{.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."};

// ---- encoding ----

Command read_encoding(const Given& given) {
  EncodingPlot out;
  out.scheme = given.text_or("--scheme", out.scheme);
  out.table = given.text("--table");
  out.model = given.text("--model");
  out.stack = given.text("--stack");
  out.start = given.whole("--start", 0, kLargestPosition).value_or(out.start);
  out.positions = given.whole("--positions", 1, kMostCells).value_or(out.positions);
  out.channels = given.whole("--channels", 1, kMostCells).value_or(out.channels);
  out.products = given.has("--products");
  if (given.has("--scheme") + given.has("--table") + given.has("--model") > 1) {
    throw UsageError{"--scheme, --table and --model exclude each other"};
  }
  return with_output(given, out);
}

CommandSpec encoding_spec() {
  return {.name = "encoding",
          .description = "What is added to embeddings, a row a position",
          .options = with_output(
              {{.names = "--scheme",
                .value = "S",
                .description = "sinusoidal (when left out; ,convention=C ,offset=N), integer (,normalised) or binary"},
               {.names = "--table",
                .value = "FILE",
                .description = "A learned table [rows, channels]; FILE:TENSOR names one of several"},
               kModel,
               kStack,
               {.names = "--positions", .value = "N", .description = "How many; 64 when left out, at most 512"},
               {.names = "--start", .value = "N", .description = "The first of them; 0 when left out"},
               {.names = "--channels", .value = "N", .description = "How many; 64 when left out, at most 512"},
               {.names = "--products", .description = "The dot product of each row with each, instead of the rows"}}),
          .footer =
              "Examples:\n"
              "  posenc plot encoding -o sines.svg\n"
              "  posenc plot encoding --scheme sinusoidal,convention=tensor2tensor -o sines.svg\n"
              "  posenc plot encoding --products --positions 128 -o alike.svg\n"
              "  posenc plot encoding --scheme binary --channels 6 --json\n\n",
          .read = read_encoding};
}

}  // namespace

CommandSpec plot_spec() {
  return {.name = "plot",
          .description = "A picture, as SVG, of what a scheme or a model does with positions",
          .footer =
              "Pictures are 600 pixels wide and legible on light and on dark pages.\n\n"
              "Examples:\n"
              "  posenc plot encoding -o sines.svg\n\n",
          .subjects = {encoding_spec()}};
}

}  // namespace posenc::tool
