#include "line/command_spec.h"
#include "tensors/job_options.h"

namespace posenc::tool {
namespace {

Command read_rotate(const Given& given) {
  const bool both = given.has("--q") && given.has("--k");
  RotateArguments out{.job = job_given(given, both ? "q and k" : ""),
                      .rotation = given.whole("--rotation", 0, INT64_MAX),
                      .q = given.text("--q"),
                      .k = given.text("--k"),
                      .positions = given.text_or("--positions", "0"),
                      .direction = given.has("--inverse") ? Direction::inverse : Direction::forward};
  if (const auto angles = given.choice("--angles", {"exact", "float32", "bfloat16"})) {
    out.angles = static_cast<Angles>(*angles);
  }
  if (!out.q && !out.k) throw UsageError{"--q or --k is needed: what is to be turned"};
  return out;
}

}  // namespace

CommandSpec rotate_spec() {
  return {
      .name = "rotate",
      .description = "Queries and keys of a file, turned as a model's layer turns them",
      .options = job_options(
          "turn",
          {{.names = "--q",
            .value = "FILE",
            .description = "Queries: .npy, safetensors or GGUF, f32, f16 or bf16; FILE:TENSOR names one of several"},
           {.names = "--k", .value = "FILE", .description = "Keys; one of the two is enough"},
           {.names = "-o,--output",
            .value = "OUT",
            .description = "A .npy file for one tensor, a .safetensors file for one or for both, q and k; dtype, "
                           "shape and order of axes as they came",
            .required = true},
           {.names = "--positions",
            .value = "P",
            .description = "A start, from which tokens are counted (0 when left out); a list 5,0,9; or a file of "
                           "integers or floats, [tokens] or [axes, tokens]"},
           {.names = "--inverse", .description = "Turn back"},
           {.names = "--angles",
            .value = "A",
            .description = "exact (when left out), or as models compute them: float32, bfloat16"},
           {.names = "--rotation",
            .value = "N",
            .description = "Which of a layer's rotations, counted from 0; needed where several turn queries and "
                           "keys, or for an indexer's"}}),
      .footer =
          "Exit code 1: with --check, an error above its bound (docs/rotation.md).\n\n"
          "Examples:\n"
          "  posenc rotate --model llama-3.1-8b --q q.npy -o turned.npy --check\n"
          "  posenc rotate --model model/ --layer 5 --q q.npy --k k.npy -o qk.safetensors\n"
          "  posenc rotate --model model/ --layer 5 --q qk.safetensors -o q.npy --inverse\n"
          "  posenc rotate --model a.gguf --k dump.safetensors:k_5 -o k.npy \\\n"
          "    --positions 4096\n\n",
      .read = read_rotate};
}

}  // namespace posenc::tool
