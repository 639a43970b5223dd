// What posenc report takes. Standard input can be read once, so that one model at most may be "-": exit code 2.
#include <algorithm>

#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

Command read_report(const Given& given) {
  ReportArguments out{.models = models_given(given, "MODEL"),
                      .length = given.whole("--length", 1, kLargestLength),
                      .out = given.text("--output"),
                      .force = given.has("--force"),
                      .json = given.has("--json")};
  if (given.has("--against")) {
    out.against = model_given(given, "--against", "", "--set-against");
  } else if (given.has("--set-against")) {
    throw UsageError{"--set-against: there is no --against whose facts it could set"};
  }
  const auto inputs =
      std::ranges::count(out.models, "-", &ModelWord::name) + (out.against && out.against->name == "-" ? 1 : 0);
  if (inputs > 1) throw UsageError{"MODEL: only one model can be standard input (-)"};
  if (out.force && !out.out) throw UsageError{"--force: there is no -o whose file it could replace"};
  return out;
}

}  // namespace

CommandSpec report_spec() {
  return {
      .name = "report",
      .description = "What models do with positions, as one page to look at (HTML)",
      .options = {{.names = "MODEL",
                   .description = "As for inspect: files, directories, names of presets, or -",
                   .required = true,
                   .many = true},
                  set_option(),
                  {.names = "--length",
                   .value = "N",
                   .description = "Sequence length in tokens that the models are wanted for; by default the longest "
                                  "that each says it serves"},
                  {.names = "--against",
                   .value = "OTHER",
                   .description = "Holds the first model against this one: what differs comes first, the two stand "
                                  "beside each other"},
                  set_option("--set-against"),
                  {.names = "-o,--output",
                   .value = "FILE",
                   .description = "The page; by default it goes to standard output"},
                  {.names = "--force", .description = "Overwrite the file where it exists"},
                  {.names = "--json",
                   .description = "The numbers of the page as JSON (docs/report.schema.json), and no page"}},
      .footer =
          "The page is one file, which works from disk and asks nothing of a network.\n"
          "docs/report.md says what stands on it.\n\n"
          "Examples:\n"
          "  posenc report llama-3.1-8b -o report.html\n"
          "  posenc report model/ --length 131072 -o report.html\n"
          "  posenc report base/ --against finetuned/ -o differences.html\n"
          "  posenc report qwen3-8b --against qwen3-8b --length 131072 \\\n"
          "      --set-against rope_scaling=yarn,factor=4 -o yarn.html\n"
          "  posenc report gemma-3-4b --json | jq '.models[0].findings[].text'\n\n",
      .read = read_report};
}

}  // namespace posenc::tool
