// What posenc compare takes. Standard input can be read once, so that A and B may not both be "-": exit code 2.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

Command read_compare(const Given& given) {
  CompareArguments out{.a = model_given(given, "A", "", "--set-a"),
                       .b = model_given(given, "B", "", "--set-b"),
                       .length = given.whole("--length", 1, kLargestLength),
                       .tolerance = given.from_zero("--tolerance"),
                       .ignore_row_order = given.choice("--ignore", {"row-order"}).has_value(),
                       .json = given.has("--json")};
  if (out.a.name == "-" && out.b.name == "-")
    throw UsageError{"A and B: only one of the two can be standard input (-)"};
  return out;
}

}  // namespace

CommandSpec compare_spec() {
  return {.name = "compare",
          .description = "How the position encodings of two models differ, and what follows from it",
          .options = {{.names = "A",
                       .description = "What inspect takes: a file, a directory, the name of a preset, or -",
                       .required = true},
                      {.names = "B", .description = "The other model", .required = true},
                      set_option("--set-a"),
                      set_option("--set-b"),
                      {.names = "--length",
                       .value = "N",
                       .description =
                           "Sequence length in tokens, for scaling rules that depend on it; angles are compared up "
                           "to there"},
                      {.names = "--tolerance",
                       .value = "R",
                       .description = "Radians by which angles may differ and count as the same (default: 0.001)"},
                      {.names = "--ignore",
                       .value = "WHAT",
                       .description = "row-order: a difference that a conversion to GGUF makes on purpose is none, "
                                      "and exit code 6 becomes 0"},
                      {.names = "--json", .description = "As JSON (docs/compare.schema.json)"}},
          .footer =
              "Exit code 0: the same in substance. 1: they differ in something that changes\n"
              "what the model computes. 6: they differ in the order of rows alone in which a\n"
              "conversion to GGUF stores q and k (pairing half in the one, interleaved in the\n"
              "GGUF): right for a converted model, with its own weights.\n\n"
              "Examples:\n"
              "  posenc compare llama-3.1-8b llama-3.2-1b\n"
              "  posenc compare base/ finetuned/ --length 32768\n"
              "  posenc compare qwen3-8b - < config.json\n"
              "  posenc compare a/ b/ --json | jq .verdict\n"
              "  posenc compare qwen3-8b qwen3-8b --set-b rope_scaling=yarn,factor=4\n"
              "  posenc compare model/ model.gguf --ignore row-order\n\n",
          .read = read_compare};
}

}  // namespace posenc::tool
