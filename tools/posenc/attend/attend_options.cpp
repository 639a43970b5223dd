// What posenc attend has besides the options of every job (tensors/job_options.cpp). --q, --k, --v and -o are required
// by the parser; out and lse cannot both go to a .npy file.
#include <optional>

#include "line/command_spec.h"
#include "line/formatted.h"
#include "tensors/job_options.h"
#include "tensors/machine_options.h"

namespace posenc::tool {
namespace {

// In the order of FeatureMap. What linear attention has no place for is refused, and why.
std::optional<FeatureMap> linear_given(const Given& given) {
  const auto map = given.choice("--linear", {"elu_plus_one", "identity", "relu"});
  if (!map) return {};
  struct Excluded {
    const char* flag;
    const char* why;
  };
  constexpr Excluded kExcluded[] = {
      {"--weights", "it has no learned tables"},
      {"--mask", "it sums over all keys; whether it is causal is the layer's"},
      {"--q-rotated", "its feature map comes before the rotation"},
      {"--k-rotated", "its feature map comes before the rotation"},
      {"--lse", "it has no softmax"},
  };
  for (const auto& [flag, why] : kExcluded) {
    if (given.has(flag)) throw UsageError{formatted("{} cannot be combined with --linear: {}", flag, why)};
  }
  if (products_given(given) == Products::bf16) {
    throw UsageError{"--products bf16 cannot be combined with --linear: its products are f32"};
  }
  return static_cast<FeatureMap>(*map);
}

// What a port is not compared with, and why.
void require_comparable(const Given& given) {
  if (!given.has("--expect")) return;
  struct Excluded {
    const char* flag;
    const char* why;
  };
  constexpr Excluded kExcluded[] = {
      {"--linear", "a port's softmax is compared"},
      {"--mask", "the layer's own mask is compared"},
      {"--cross", "queries and keys are of one text"},
      {"--q-positions", "queries and keys are the same tokens"},
      {"--q-rotated", "all of the layer is compared, its rotation too"},
      {"--k-rotated", "all of the layer is compared, its rotation too"},
  };
  for (const auto& [flag, why] : kExcluded) {
    if (given.has(flag)) throw UsageError{formatted("{} cannot be combined with --expect: {}", flag, why)};
  }
}

Command read_attend(const Given& given) {
  require_comparable(given);
  const std::optional<FeatureMap> linear = linear_given(given);  // refuses what else would ask for more
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
                         .products = products_given(given),
                         .linear = linear,
                         .expect = given.text("--expect")};
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
           {.names = "--expect",
            .value = "FILE",
            .description = "What a port made of the same q, k and v, out: held to the float64 reference by its dtype's "
                           "bound, and diagnosed where it fails"},
           {.names = "--q-rotated", .description = "RoPE has been applied to the queries already"},
           {.names = "--k-rotated", .description = "RoPE has been applied to the keys already, as in a KV cache"},
           {.names = "--lse", .description = "OUT also holds lse, each row's log-sum-exp of scores"},
           products_option(),
           {.names = "--linear",
            .value = "MAP",
            .description = "Linear attention instead of a softmax, by the layer's rotation, sizes and causality: "
                           "elu_plus_one, identity or relu of queries and keys before RoPE"},
           {.names = "--cross", .description = "The layer's cross-attention to an encoder, not its self-attention"}}),
      .footer =
          "Exit code 1: with --check, an error above its bound (docs/attention.md);\n"
          "with --expect, a port that fails.\n\n"
          "Examples:\n"
          "  posenc attend --model llama-3.1-8b --q q.npy --k k.npy --v v.npy \\\n"
          "    -o out.npy --check\n"
          "  posenc attend --model gpt-oss-20b --layer 0 --q qkv.safetensors \\\n"
          "    --k qkv.safetensors --v qkv.safetensors --weights w.safetensors \\\n"
          "    -o out.safetensors --lse\n"
          "  posenc attend --model llama-3.1-8b --q q.npy --k k.npy --v v.npy \\\n"
          "    -o out.npy --linear elu_plus_one\n\n",
      .read = read_attend};
}

}  // namespace posenc::tool
