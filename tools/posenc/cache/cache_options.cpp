// What posenc cache takes.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostShift = 1 << 20;  // study_cache's

Command read_cache(const Given& given) {
  CacheArguments out{.model = model_given(given, "MODEL"),
                     .stack = given.text("--stack"),
                     .simulate = given.has("--simulate"),
                     .json = given.has("--json")};
  out.shift_by = given.whole("--shift-by", 1, kMostShift).value_or(1);
  return out;
}

}  // namespace

CommandSpec cache_spec() {
  return {.name = "cache",
          .description = "A model's KV cache: its size in each format, and whether it may be shifted, spliced, merged",
          .options = {{.names = "MODEL",
                       .description = "As for inspect: a file, a directory, the name of a preset, or -",
                       .required = true},
                      set_option(),
                      {.names = "--stack",
                       .value = "NAME",
                       .description = "decoder, encoder, ...: that stack; by default the first that decodes"},
                      {.names = "--simulate",
                       .description = "Shift keys a thousand times in each format, and measure what is left"},
                      {.names = "--shift-by",
                       .value = "N",
                       .description = "Positions of each of these shifts; 1 by default"},
                      {.names = "--json", .description = "As JSON (docs/cache.schema.json)"}},
          .footer =
              "Verdicts are exact, approximate or no, for keys stored before RoPE and after it,\n"
              "with the reasons; docs/cache.md says what each operation is.\n\n"
              "Examples:\n"
              "  posenc cache llama-3.1-8b\n"
              "  posenc cache qwen2.5-7b --simulate --shift-by 256\n"
              "  posenc cache config.json --json | jq '.bytes.q8_0 * 131072'\n\n",
          .read = read_cache};
}

}  // namespace posenc::tool
