// What posenc attend has besides the options of every job (tensors/job_options.cpp). --q, --k, --v and -o are required
// by the parser; out and lse cannot both go to a .npy file.
#include "line/command_spec.h"
#include "tensors/job_options.h"
#include "tensors/machine_options.h"

namespace posenc::tool {
namespace {

Command read_attend(const Given& given) {
  return AttendArguments{.job = job_given(given, given.has("--lse") ? "out and lse" : ""),
                         .cross = given.has("--cross"),
                         .q = given.text_or("--q", ""),
                         .k = given.text_or("--k", ""),
                         .v = given.text_or("--v", ""),
                         .weights = given.text("--weights"),
                         .positions = given.text("--positions"),
                         .q_positions = given.text("--q-positions"),
                         .mask = given.text("--mask"),
                         .q_rotated = given.has("--q-rotated"),
                         .k_rotated = given.has("--k-rotated"),
                         .lse = given.has("--lse"),
                         .products = products_given(given)};
}

}  // namespace

CommandSpec attend_spec() {
  return {
      .name = "attend",
      .description = "A model layer's attention over queries, keys and values of files",
      .options = job_options(
          "attend",
          {{.names = "--q",
            .value = "FILE",
            .description = "Queries, before RoPE: .npy, .npz, safetensors or GGUF, f32, f16, bf16 or f64 (used as "
                           "f32); FILE:TENSOR "
                           "names one of several",
            .required = true},
           {.names = "--k", .value = "FILE", .description = "Keys, before RoPE", .required = true},
           {.names = "--v", .value = "FILE", .description = "Values", .required = true},
           {.names = "-o,--output",
            .value = "OUT",
            .description = "A .npy or .safetensors file for the output (out), in the dtype and layout of the "
                           "queries",
            .required = true},
           {.names = "--weights",
            .value = "FILE",
            .description = "The layer's learned tables, where it has any, by name: table, sinks, ..."},
           {.names = "--positions",
            .value = "P",
            .description = "Positions of the keys: the first one, from which tokens are counted (default: 0); a "
                           "list 5,0,9; or a file of integers or floats, [tokens] or [axes, tokens]"},
           {.names = "--q-positions",
            .value = "P",
            .description = "Positions of the queries; by default they are the last of the keys' tokens"},
           {.names = "--mask",
            .value = "M",
            .description = "The attention mask, instead of the layer's own: causal, none, or a file of booleans "
                           "or integers, [queries, keys], nonzero where a query attends"},
           {.names = "--q-rotated", .description = "RoPE has been applied to the queries already"},
           {.names = "--k-rotated", .description = "RoPE has been applied to the keys already, as in a KV cache"},
           {.names = "--lse", .description = "OUT also holds lse, each row's log-sum-exp of scores"},
           products_option(),
           {.names = "--cross", .description = "The layer's cross-attention to an encoder, not its self-attention"}}),
      .footer =
          "Exit code 1: with --check, an error above its bound (docs/attention.md).\n\n"
          "Examples:\n"
          "  posenc attend --model llama-3.1-8b --q q.npy --k k.npy --v v.npy \\\n"
          "    -o out.npy --check\n"
          "  posenc attend --model gpt-oss-20b --layer 0 --q qkv.safetensors \\\n"
          "    --k qkv.safetensors --v qkv.safetensors --weights w.safetensors \\\n"
          "    -o out.safetensors --lse\n\n",
      .read = read_attend};
}

}  // namespace posenc::tool
