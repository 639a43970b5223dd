// What the kinds of `posenc plot` share on the command line, and the command itself.
// plot_spec is declared in line/command_spec.h, beside those of the other commands.
#include "plot/plot_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "line/formatted.h"
#include "line/model_option.h"
#include "line/text.h"

namespace posenc::tool {

std::vector<OptionSpec> joined(const std::vector<std::vector<OptionSpec>>& lists) {
  std::vector<OptionSpec> all;
  for (const std::vector<OptionSpec>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<OptionSpec> with_output(std::vector<std::vector<OptionSpec>> own) {
  own.push_back({{.names = "-o,--output",
                  .value = "FILE",
                  .description = "Where to: a .svg file, with --json a .json file (default: standard output)"},
                 {.names = "--force", .description = "Overwrite FILE if it exists"},
                 {.names = "--json", .description = "The numbers that are drawn, as JSON, instead of the picture"}});
  return joined(own);
}

namespace {

// A name without an ending is anybody's; a stream's (/dev/stdout), too.
bool has_ending(const std::string& name, const std::string& wanted) {
  const std::string file = name.substr(name.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  return dot == std::string::npos || dot == 0 || file.substr(dot) == wanted;
}

// "; rsvg-convert x.svg -o x.png makes one of it": for formats that librsvg writes. A name that a shell would not take
// for one word is none to show.
std::string converted_by(const std::string& file) {
  const std::size_t dot = file.rfind('.');
  const std::string ending = file.substr(dot);
  if (ending != ".png" && ending != ".pdf") return "";
  const bool plain = file.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-") ==
                     std::string::npos;
  const std::string stem = plain && file.front() != '-' ? file.substr(0, dot) : "picture";
  return formatted("; write {0}.svg, then rsvg-convert {1}-o {0}{2} {0}.svg (librsvg)", stem,
                   ending == ".pdf" ? "-f pdf " : "", ending);
}

}  // namespace

PlotArguments with_output(const Given& given, decltype(PlotArguments::plot) plot) {
  PlotArguments out{.plot = std::move(plot),
                    .out = given.text("--output"),
                    .force = given.has("--force"),
                    .json = given.has("--json")};
  // Every program would take the text for what the name says.
  if (const std::string wanted = out.json ? ".json" : ".svg"; out.out && !has_ending(*out.out, wanted)) {
    throw UsageError{
        formatted("-o: a picture is written as SVG, and its numbers with --json; expected a name that ends "
                  "in {}, got '{}'{}",
                  wanted, printable(*out.out), out.json ? "" : converted_by(*out.out))};
  }
  if (out.force && !out.out) throw UsageError{"--force: there is no -o whose file it could replace"};
  return out;
}

std::vector<OptionSpec> model_options(const std::string& whose) {
  return {{.names = "--model", .value = "MODEL", .description = whose + ", as for inspect"},
          set_option(),
          {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."}};
}

std::vector<OptionSpec> layer_options(const std::string& whose) {
  return joined({model_options(whose),
                 {{.names = "--layer",
                   .value = "N",
                   .description = "Counted from 0 (default: the first with something to draw)"}}});
}

std::optional<ModelWords> model_words(const Given& given) {
  if (given.has("--model")) {
    return ModelWords{.model = model_given(given, "--model"),
                      .stack = given.text("--stack"),
                      .layer = given.whole("--layer", 0, INT64_MAX),
                      .rotation = given.whole("--rotation", 0, INT64_MAX)};
  }
  // An option that a kind does not have is never given, so all kinds can share this list.
  for (const char* flag : {"--stack", "--layer", "--rotation"}) {
    if (given.has(flag)) throw UsageError{formatted("{}: there is no --model that it could choose from", flag)};
  }
  no_set_without_model(given);
  return {};
}

void only_one_of(const Given& given, const std::vector<std::string>& flags) {
  const auto count =
      std::count_if(flags.begin(), flags.end(), [&](const std::string& flag) { return given.has(flag); });
  if (count > 1) throw UsageError{join(flags, ", ") + " exclude each other"};
}

CommandSpec plot_spec() {
  return {.name = "plot",
          .description = "A picture (SVG) of a position encoding or of a model's",
          .footer =
              "Pictures are 600 pixels wide and legible on light and on dark pages.\n\n"
              "Examples:\n"
              "  posenc plot encoding -o sines.svg\n"
              "  posenc plot bias --scheme t5 --curves --tokens 200 -o buckets.svg\n"
              "  posenc plot wavelengths --model llama-3.1-8b -o wavelengths.svg\n"
              "  posenc plot rotation --help         what else rotation takes\n\n",
          .subjects = {encoding_spec(), bias_spec(), distance_spec(), attention_spec(), wavelengths_spec(),
                       scaling_spec(), rotation_spec(), decay_spec(), coordinates_spec(), query_scale_spec()}};
}

}  // namespace posenc::tool
