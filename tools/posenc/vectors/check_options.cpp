// What posenc check takes.
#include "line/command_spec.h"

namespace posenc::tool {
namespace {

Command read_check_command(const Given& given) {
  CheckArguments out{.directory = given.text_or("DIR", ""),
                     .against = given.text_or("--against", ""),
                     .as = given.text("--as"),
                     .bf16 = given.has("--bf16"),
                     .json = given.has("--json")};
  if (const auto dtype = given.choice("--dtype", {"float32", "float16", "bfloat16"})) {
    out.dtype = static_cast<DType>(*dtype);  // in the order of DType
  }
  return out;
}

}  // namespace

CommandSpec check_spec() {
  return {
      .name = "check",
      .description = "Hold a port's outputs to golden vectors, and say what it did instead",
      .options = {{.names = "DIR", .value = "", .description = "What posenc vectors wrote", .required = true},
                  {.names = "--against",
                   .value = "PORT",
                   .description =
                       "The port's outputs by name: q_rotated, k_rotated, scores, out, also inv_freq, cos, sin. A "
                       ".npz or safetensors file, a .npy file called q_rotated.npy or the like, or a directory of "
                       "such files; f32, f16, bf16 or f64",
                   .required = true},
                  {.names = "--as", .value = "NAME", .description = "Which output a .npy file is, whatever its name"},
                  {.names = "--dtype",
                   .value = "D",
                   .description =
                       "What the port computes in: float32, bfloat16 or float16; omitted: as its files are stored"},
                  {.names = "--bf16", .description = "16-bit raw elements of a .npy file are bfloat16"},
                  {.names = "--json", .description = "As JSON (docs/vectors.md)"}},
      .footer =
          "Exit code 0: the port passes. 1: it does not, and the report says what was done.\n\n"
          "Examples:\n"
          "  posenc check golden --against port/\n"
          "  posenc check golden --against port.safetensors --dtype bfloat16\n"
          "  posenc check golden --against rotated.npy --as q_rotated\n\n",
      .read = read_check_command};
}

}  // namespace posenc::tool
