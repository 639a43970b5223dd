// The words of info, presets and demo. None of them reads a file; demo takes the name of a preset only.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {

CommandSpec info_spec() {
  return {.name = "info",
          .description = "This build, this machine, its kernels, and limits",
          .options = {{.names = "--json", .description = "As JSON"}},
          .footer =
              "Examples:\n"
              "  posenc info\n"
              "  POSENC_ISA=scalar posenc info       another kernel than the default\n\n",
          .read = [](const Given& given) -> Command { return InfoArguments{.json = given.has("--json")}; }};
}

CommandSpec presets_spec() {
  return {.name = "presets",
          .description = "The built-in models, one line of facts each",
          .options = {{.names = "--json", .description = "As JSON"}},
          .footer = "Examples:\n  posenc presets\n\n",
          .read = [](const Given& given) -> Command { return PresetsArguments{.json = given.has("--json")}; }};
}

CommandSpec demo_spec() {
  return {.name = "demo",
          .description = "A built-in model, then errors and speed of its angle tables, its RoPE and its attention",
          .options = {{.names = "PRESET",
                       .description =
                           "One of `posenc presets` that has RoPE (default: " + DemoArguments{}.preset.name + ")"},
                      set_option(),
                      {.names = "--json", .description = "The measurements as JSON, without the model's description"}},
          .footer =
              "Errors and speeds are measured when it runs. Exit code 1: an error of cos or sin\n"
              "is above 1 ulp, or one of RoPE or attention above its bound\n"
              "(docs/rotation.md, docs/attention.md).\n\n"
              "Examples:\n"
              "  posenc demo\n"
              "  posenc demo gemma-3-4b --json\n\n",
          .read = [](const Given& given) -> Command {
            return DemoArguments{.preset = model_given(given, "PRESET", DemoArguments{}.preset.name),
                                 .json = given.has("--json")};
          }};
}

}  // namespace posenc::tool
