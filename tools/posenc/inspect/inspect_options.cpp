// What posenc inspect takes. --json with --layer or --stack is exit code 2: JSON always holds the whole plan.
#include <algorithm>

#include "line/command_spec.h"
#include "line/formatted.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

Command read_inspect(const Given& given) {
  const InspectArguments out{.models = models_given(given, "MODEL"),
                             .layer = given.whole("--layer", 0, INT64_MAX),
                             .stack = given.text("--stack"),
                             .length = given.whole("--length", 1, kLargestLength),
                             .json = given.has("--json"),
                             .strict = given.has("--strict"),
                             .patch = given.has("--patch"),
                             .brief = given.has("--brief")};
  if (out.models.size() > 1 && !out.brief) {
    throw UsageError{formatted("{} models: several are told by --brief alone, one line each", out.models.size())};
  }
  if (std::ranges::count(out.models, "-", &ModelWord::name) > 1) {
    throw UsageError{"MODEL: only one model can be standard input (-)"};
  }
  for (const char* flag : {"--layer", "--stack", "--patch"}) {
    if (out.brief && given.has(flag)) throw UsageError{formatted("--brief and {} exclude each other", flag)};
  }
  if (out.patch && out.models.front().set.empty())
    throw UsageError{"--patch: there is no --set that it could tell others"};
  for (const char* flag : {"--layer", "--stack", "--strict"}) {
    if (out.patch && given.has(flag)) throw UsageError{formatted("--patch and {} exclude each other", flag)};
  }
  for (const char* flag : {"--layer", "--stack"}) {
    if (out.json && given.has(flag)) {
      throw UsageError{formatted("--json and {} exclude each other (JSON always holds the whole plan)", flag)};
    }
  }
  return out;
}

}  // namespace

CommandSpec inspect_spec() {
  return {
      .name = "inspect",
      .description = "A model's position encodings, layer by layer: RoPE, biases, softmax scale, mask",
      .options =
          {{.names = "MODEL",
            .description = "A config.json, params.json or GGUF file, a directory that holds one of the first two, "
                           "the name of a preset, or - for standard input; several with --brief",
            .required = true,
            .many = true},
           set_option(),
           {.names = "--brief", .description = "One line a model: layers, heads, rotations and biases, masks"},
           {.names = "--layer", .value = "N", .description = "One layer in full, with the inv_freq of every pair"},
           {.names = "--stack", .value = "NAME", .description = "Only this stack: decoder, encoder, vision, ..."},
           {.names = "--length",
            .value = "N",
            .description = "Sequence length in tokens, for scaling rules that depend on it (dynamic NTK, LongRoPE); by "
                           "default the trained length, and none in --json"},
           {.names = "--json", .description = "The whole plan as JSON (docs/plan.schema.json), layers not merged"},
           {.names = "--patch",
            .description = "Not the plan: how config.json (transformers 4 and 5), llama.cpp and vLLM are told what "
                           "--set says, and what they cannot say"},
           {.names = "--strict", .description = "Exit 1 on warnings and on facts that could not be decided"}},
      .footer =
          "Examples:\n"
          "  posenc inspect llama-3.1-8b\n"
          "  posenc inspect model/ --layer 5\n"
          "  posenc inspect --brief llama-3.1-8b model/ other.gguf\n"
          "  posenc inspect config.json --length 32768\n"
          "  posenc inspect qwen3-8b --set rope_scaling=yarn,factor=4,original=32768\n"
          "  posenc inspect config.json --set base=1e6 --patch\n"
          "  posenc inspect --json - < config.json | jq .stacks[0].layers[0].rotate\n"
          "  posenc inspect --strict config.json > /dev/null && echo no warnings\n\n",
      .read = read_inspect};
}

}  // namespace posenc::tool
