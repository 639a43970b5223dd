// What posenc extend takes.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

Command read_extend(const Given& given) {
  ExtendArguments out{.model = model_given(given, "MODEL"),
                      .from = given.whole("--from", 1, kLargestLength),
                      .json = given.has("--json")};
  out.to = given.whole("--to", 1, kLargestLength).value_or(1);
  return out;
}

}  // namespace

CommandSpec extend_spec() {
  return {.name = "extend",
          .description = "Can this model go to a longer context: every way of stretching its rotation, side by side",
          .options = {{.names = "MODEL",
                       .description = "As for inspect: a file, a directory, the name of a preset, or -",
                       .required = true},
                      set_option(),
                      {.names = "--to", .value = "N", .description = "The length in tokens", .required = true},
                      {.names = "--from",
                       .value = "N",
                       .description = "The length that it was trained for before any rule; by default what the rule's "
                                      "own numbers or the file's trained length say"},
                      {.names = "--json", .description = "As JSON (docs/extend.md)"}},
          .footer =
              "It says what frequencies alone can say, and names what they cannot: measure the\n"
              "loss and the recall of the way that you take.\n\n"
              "Examples:\n"
              "  posenc extend qwen3-8b --to 131072\n"
              "  posenc extend config.json --to 32768 --from 8192\n"
              "  posenc extend llama-3.1-8b --to 1048576 --json | jq .recommended\n"
              "  posenc report qwen3-8b --against qwen3-8b --length 131072 \\\n"
              "      --set-against rope_scaling=yarn,factor=3.2,original=40960 -o yarn.html\n\n",
          .read = read_extend};
}

}  // namespace posenc::tool
