#include "line/command_spec.h"

namespace posenc::tool {
namespace {

Command read_compare(const Given& given) {
  CompareArguments out{.a = given.text_or("A", ""),
                       .b = given.text_or("B", ""),
                       .length = given.whole("--length", 1, kLargestLength),
                       .tolerance = given.from_zero("--tolerance"),
                       .json = given.has("--json")};
  if (out.a == "-" && out.b == "-") throw UsageError{"A and B: only one of the two can be standard input (-)"};
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
                      {.names = "--length",
                       .value = "N",
                       .description =
                           "Sequence length in tokens, for scaling rules that depend on it; angles are compared up "
                           "to there"},
                      {.names = "--tolerance",
                       .value = "R",
                       .description = "Radians by which angles may differ and count as the same (default: 0.001)"},
                      {.names = "--json", .description = "As JSON (docs/compare.schema.json)"}},
          .footer =
              "Exit code 0: the same in substance. 1: they differ in something that changes\n"
              "what the model computes, even if only in the pairing (NeoX or GPT-J).\n\n"
              "Examples:\n"
              "  posenc compare llama-3.1-8b llama-3.2-1b\n"
              "  posenc compare base/ finetuned/ --length 32768\n"
              "  posenc compare qwen3-8b - < config.json\n"
              "  posenc compare a/ b/ --json | jq .verdict\n\n",
          .read = read_compare};
}

}  // namespace posenc::tool
