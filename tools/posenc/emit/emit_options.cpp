// What posenc emit takes. Exit code 2 where --force has nothing to replace.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

// In the order of EmitTarget.
const std::vector<std::string>& languages() {
  static const std::vector<std::string> kLanguages{"numpy", "torch", "c", "cpp", "cuda", "triton", "metal"};
  return kLanguages;
}

Command read_emit(const Given& given) {
  EmitArguments out{.model = model_given(given, "MODEL"),
                    .stack = given.text("--stack"),
                    .layer = given.whole("--layer", 0, INT64_MAX),
                    .cross = given.has("--cross"),
                    .length = given.whole("--length", 1, kLargestLength),
                    .out = given.text("--output"),
                    .force = given.has("--force"),
                    .json = given.has("--json")};
  if (const auto language = given.choice("--as", languages())) out.as = static_cast<EmitTarget>(*language);
  if (out.force && !out.out) throw UsageError{"--force: there is no -o whose files it could replace"};
  return out;
}

}  // namespace

CommandSpec emit_spec() {
  return {.name = "emit",
          .description = "A layer's tables, rotation, mask and biases as code, short and to be read",
          .options = {{.names = "MODEL",
                       .description = "As for inspect: a file, a directory, the name of a preset, or -",
                       .required = true},
                      set_option(),
                      {.names = "--as",
                       .value = "LANGUAGE",
                       .description = "numpy, torch, c, cpp, cuda, triton or metal",
                       .required = true},
                      {.names = "--layer",
                       .value = "N",
                       .description = "Counted from 0; may be omitted where all layers of the stack are alike"},
                      {.names = "--stack",
                       .value = "NAME",
                       .description = "decoder, encoder, vision, ...; by default the first"},
                      {.names = "--cross", .description = "The layer's attention to an encoder, not that to itself"},
                      {.names = "--length",
                       .value = "N",
                       .description = "Sequence length in tokens, for scaling rules that depend on it; omitted: an "
                                      "argument of the code"},
                      {.names = "-o,--output",
                       .value = "DIR",
                       .description = "Into this folder, which is made where it is missing, with golden vectors in a "
                                      "folder beside; by default to standard output"},
                      {.names = "--force",
                       .description = "Overwrite the code where it exists; golden vectors that are there stay"},
                      {.names = "--json",
                       .description = "As JSON (docs/emit.md): the text, its functions and their "
                                      "parameters"}},
          .footer =
              "The code is yours, under any licence. What a language cannot express, or emit\n"
              "does not write yet, is refused by name.\n\n"
              "Examples:\n"
              "  posenc emit llama-3.1-8b --as numpy\n"
              "  posenc emit model/ --layer 5 --as cuda -o port/\n"
              "  posenc emit gpt-oss-20b --layer 0 --as c > attention.c\n"
              "  posenc emit qwen3-8b --as torch --json | jq .functions\n\n",
          .read = read_emit};
}

}  // namespace posenc::tool
