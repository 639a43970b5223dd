// What posenc rotate has besides the options of every job (tensors/job_options.cpp). Exit code 2 where neither --q nor
// --k is given, and where both are to go to a .npy file.
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
                      .direction = given.has("--inverse") ? Direction::inverse : Direction::forward,
                      .again = given.has("--again"),
                      .expect = given.text("--expect")};
  // In the order of Angles.
  if (const auto angles = given.choice("--angles", {"exact", "float32", "bfloat16"})) {
    out.angles = static_cast<Angles>(*angles);
  }
  if (out.expect && out.direction == Direction::inverse) {
    throw UsageError{"--inverse cannot be combined with --expect: what a port has rotated is compared"};
  }
  if (out.expect && out.angles != Angles::exact) {
    throw UsageError{
        "--angles cannot be combined with --expect: a port is held to exact angles, within float32's errors"};
  }
  if (!out.q && !out.k) throw UsageError{"--q or --k is needed: the tensors to rotate"};
  return out;
}

}  // namespace

CommandSpec rotate_spec() {
  return {
      .name = "rotate",
      .description = "Apply a model layer's RoPE to queries and keys of a file",
      .options = job_options(
          "rotate",
          {{.names = "--q",
            .value = "FILE",
            .description = "Queries: .npy, .npz, safetensors or GGUF, f32, f16, bf16 or f64 (used as f32); FILE:TENSOR "
                           "names one of several"},
           {.names = "--k", .value = "FILE", .description = "Keys; --q, --k or both"},
           {.names = "-o,--output",
            .value = "OUT",
            .description = "A .npy file for one tensor, a .safetensors file for one or for both, q and k; dtype, "
                           "shape and layout as in the input",
            .required = true},
           {.names = "--positions",
            .value = "P",
            .description = "The first position, from which tokens are counted (default: 0); a list 5,0,9; or a file "
                           "of integers or floats, [tokens] or [axes, tokens]"},
           {.names = "--inverse", .description = "Undo RoPE: rotate back"},
           {.names = "--again", .description = "Rotate once more a tensor whose file says that this has been done"},
           {.names = "--expect",
            .value = "FILE",
            .description = "What a port made of the same tensors, q_rotated and k_rotated, or q and k: held to the "
                           "float64 reference by its dtype's bound, and diagnosed where it fails"},
           {.names = "--angles",
            .value = "A",
            .description = "cos and sin: exact (default), or as models compute them: float32, bfloat16"},
           {.names = "--rotation",
            .value = "N",
            .description = "Which of a layer's rotations, counted from 0; needed where several apply to queries and "
                           "keys, or for an indexer's"}}),
      .footer =
          "Exit code 1: with --check, an error above its bound (docs/rotation.md);\n"
          "with --expect, a port that fails.\n\n"
          "Examples:\n"
          "  posenc rotate --model llama-3.1-8b --q q.npy -o rotated.npy --check\n"
          "  posenc rotate --model model/ --layer 5 --q q.npy --k k.npy -o qk.safetensors\n"
          "  posenc rotate --model model/ --layer 5 --q qk.safetensors -o q.npy --inverse\n"
          "  posenc rotate --model model/ --layer 5 --q q.npy -o right.npy \\\n"
          "    --expect port.npy\n"
          "  posenc rotate --model a.gguf --k dump.safetensors:k_5 -o k.npy \\\n"
          "    --positions 4096\n\n",
      .read = read_rotate};
}

}  // namespace posenc::tool
