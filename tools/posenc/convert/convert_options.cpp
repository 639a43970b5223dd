// What posenc convert takes. Exit code 2 without -o, unless it is a dry run.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

std::optional<Pairing> pairing_of(const Given& given, std::string_view name) {
  const std::optional<std::size_t> choice = given.choice(name, {"half", "interleaved"});  // as Pairing
  return choice ? std::optional(static_cast<Pairing>(*choice)) : std::nullopt;
}

Command read_convert(const Given& given) {
  ConvertArguments out{.source = given.text_or("SOURCE", ""),
                       .out = given.text("--output"),
                       .to = pairing_of(given, "--to").value_or(Pairing::half),
                       .from = pairing_of(given, "--from"),
                       .model = {},
                       .stack = given.text("--stack"),
                       .padded_head_dim = given.whole("--padded-head-dim", 1, INT64_MAX),
                       .again = given.has("--again"),
                       .dry_run = given.has("--dry-run"),
                       .force = given.has("--force"),
                       .json = given.has("--json")};
  if (given.has("--model")) {
    out.model = model_given(given, "--model");
  } else {
    no_set_without_model(given);
  }
  if (!out.out && !out.dry_run) throw UsageError{"-o is required, unless it is a --dry-run"};
  if (out.from == out.to) throw UsageError{"--from and --to are the same pairing"};
  return out;
}

}  // namespace

CommandSpec convert_spec() {
  return {.name = "convert",
          .description = "A checkpoint's q and k projections from one pairing to the other: half-split to interleaved",
          .options =
              {{.names = "SOURCE",
                .value = "",
                .description = "A folder with safetensors and config.json, an index of shards, one .safetensors, or "
                               "a GGUF file (of several parts, the first)",
                .required = true},
               {.names = "-o,--output",
                .value = "OUT",
                .description = "What is written: a folder for a folder, an index or parts; else a file. It must not "
                               "be there, and is there only when it is whole"},
               {.names = "--to", .value = "PAIRING", .description = "half or interleaved", .required = true},
               {.names = "--from",
                .value = "PAIRING",
                .description = "What the rows are now, where it is not what the model's plan says"},
               {.names = "--model",
                .value = "MODEL",
                .description = "As for inspect, where no config.json lies beside the weights: of a LoRA adapter, the "
                               "model that it is for"},
               set_option(),
               {.names = "--stack",
                .value = "NAME",
                .description = "decoder, encoder, vision, ...; the first that rotates"},
               {.names = "--padded-head-dim",
                .value = "N",
                .description = "Heads have N rows in the file, head_dim of them the model's and the rest zeros"},
               {.names = "--again", .description = "Rows that a mark says were converted already: move them once more"},
               {.names = "--dry-run", .description = "Check everything and list what would change; write nothing"},
               {.names = "--force", .description = "Replace OUT, where it is one file"},
               {.names = "--json", .description = "As JSON (docs/convert.md)"}},
          .footer =
              "Rows move whole, of any type; all else is copied byte by byte. What is killed goes\n"
              "on from OUT.posenc-partial by the same command.\n\n"
              "Examples:\n"
              "  posenc convert llama/ -o llama-interleaved/ --to interleaved\n"
              "  posenc convert model.gguf -o mended.gguf --from half --to interleaved\n"
              "  posenc convert adapter/ -o out/ --to interleaved --model llama-3.1-8b\n"
              "  posenc convert llama/ --to interleaved --dry-run --json | jq '.tensors[].name'\n\n",
          .read = read_convert};
}

}  // namespace posenc::tool
