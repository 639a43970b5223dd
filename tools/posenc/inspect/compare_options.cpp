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
          .description = "Which position facts of two models differ, and what follows",
          .options = {{.names = "A",
                       .description = "What inspect takes: a file, a directory, the name of a preset, or -",
                       .required = true},
                      {.names = "B", .description = "The other one", .required = true},
                      {.names = "--length",
                       .value = "N",
                       .description =
                           "The sequence's length in tokens, for rules that depend on it, and up to which angles "
                           "are judged"},
                      {.names = "--tolerance",
                       .value = "R",
                       .description = "Radians by which an angle may differ and count as the same; 0.001 if left out"},
                      {.names = "--json", .description = "As JSON (docs/compare.schema.json)"}},
          .footer =
              "Exit code 0: the same in substance. 1: they differ in something that changes\n"
              "what the model computes, if only in the pairing.\n\n"
              "Examples:\n"
              "  posenc compare llama-3.1-8b llama-3.2-1b\n"
              "  posenc compare base/ finetuned/ --length 32768\n"
              "  posenc compare qwen3-8b - < config.json\n"
              "  posenc compare a/ b/ --json | jq .verdict\n\n",
          .read = read_compare};
}

}  // namespace posenc::tool
