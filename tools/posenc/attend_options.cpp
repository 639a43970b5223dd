#include "command_spec.h"
#include "formatted.h"
#include "text.h"

namespace posenc::tool {
namespace {

void check_output(const std::string& out, bool lse) {
  const bool npy = out.ends_with(".npy");
  if (!npy && !out.ends_with(".safetensors")) {
    throw UsageError{formatted("-o: expected a file name that ends in .npy or .safetensors, got '{}'", printable(out))};
  }
  if (npy && lse) {
    throw UsageError{"-o: a .npy file holds one tensor, and out and lse are two; end the name in .safetensors"};
  }
}

Command read(const Given& given) {
  AttendArguments out{.model = given.text_or("--model", ""),
                      .stack = given.text("--stack"),
                      .layer = given.whole("--layer", 0, INT64_MAX),
                      .cross = given.has("--cross"),
                      .length = given.whole("--length", 1, kLargestLength),
                      .q = given.text_or("--q", ""),
                      .k = given.text_or("--k", ""),
                      .v = given.text_or("--v", ""),
                      .out = given.text_or("--output", ""),
                      .weights = given.text("--weights"),
                      .positions = given.text("--positions"),
                      .q_positions = given.text("--q-positions"),
                      .mask = given.text("--mask"),
                      .queries_are_turned = given.has("--queries-turned"),
                      .keys_are_turned = given.has("--keys-turned"),
                      .lse = given.has("--lse"),
                      .bf16 = given.has("--bf16"),
                      .force = given.has("--force"),
                      .check = given.has("--check"),
                      .json = given.has("--json")};
  if (const auto layout = given.choice("--layout", {"thd", "htd", "bhtd", "bthd"})) {
    out.layout = static_cast<TensorLayout>(*layout);
  }
  check_output(out.out, out.lse);
  return out;
}

}  // namespace

CommandSpec attend_spec() {
  return {
      .name = "attend",
      .description = "Attention over queries, keys and values of files, as a model's layer attends",
      .options = {{.names = "--model",
                   .value = "MODEL",
                   .description = "What inspect takes: a file, a directory, the name of a preset, or -",
                   .required = true},
                  {.names = "--layer",
                   .value = "N",
                   .description = "Counted from 0; may be left out where all layers attend alike"},
                  {.names = "--q",
                   .value = "FILE",
                   .description = "Queries, before they turn: .npy, safetensors or GGUF, f32, f16 or bf16; FILE:TENSOR "
                                  "names one of several",
                   .required = true},
                  {.names = "--k", .value = "FILE", .description = "Keys, before they turn", .required = true},
                  {.names = "--v", .value = "FILE", .description = "Values", .required = true},
                  {.names = "-o,--output",
                   .value = "OUT",
                   .description = "A .npy or .safetensors file for the output (out), in the dtype and the order of "
                                  "axes of the queries",
                   .required = true},
                  {.names = "--weights",
                   .value = "FILE",
                   .description = "The layer's learned tables, where it has any, by name: table, sinks, ..."},
                  {.names = "--layout",
                   .value = "L",
                   .description = "The order of axes: thd (tokens, heads, channels; of three when left out), htd, bhtd "
                                  "(of four when left out), bthd"},
                  {.names = "--positions",
                   .value = "P",
                   .description = "Where keys stand: a start, from which tokens are counted (0 when left out); a list "
                                  "5,0,9; or a file of integers or floats, [tokens] or [axes, tokens]"},
                  {.names = "--q-positions",
                   .value = "P",
                   .description = "Where queries stand; without it they are the last of the keys' tokens"},
                  {.names = "--mask",
                   .value = "M",
                   .description = "Who sees whom, instead of the layer's own mask: causal, none, or a file of booleans "
                                  "or integers, [queries, keys], not 0 where a key is seen"},
                  {.names = "--queries-turned", .description = "Queries have been turned already"},
                  {.names = "--keys-turned", .description = "Keys have been turned already, as those of a cache"},
                  {.names = "--lse", .description = "OUT also holds lse, the logarithm of the sum of exp(score)"},
                  {.names = "--length",
                   .value = "N",
                   .description = "The sequence's length in tokens, for rules that depend on it (dynamic NTK, "
                                  "LongRoPE); the last position + 1 when left out"},
                  {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."},
                  {.names = "--cross", .description = "The layer's attention to an encoder, not that to itself"},
                  {.names = "--bf16", .description = "Elements of 16 raw bits in a .npy file are bfloat16"},
                  {.names = "--force", .description = "Replace OUT if it is there"},
                  {.names = "--check",
                   .description = "Compare with the slow reference in double; exit 1 and write nothing when an error "
                                  "is above its bound"},
                  {.names = "--json", .description = "What was done, as JSON"}},
      .footer =
          "Exit code 1: with --check, an error above its bound (docs/attention.md).\n\n"
          "Examples:\n"
          "  posenc attend --model llama-3.1-8b --q q.npy --k k.npy --v v.npy \\\n"
          "    -o out.npy --check\n"
          "  posenc attend --model gpt-oss-20b --layer 0 --q qkv.safetensors \\\n"
          "    --k qkv.safetensors --v qkv.safetensors --weights w.safetensors \\\n"
          "    -o out.safetensors --lse\n\n",
      .read = read};
}

}  // namespace posenc::tool
