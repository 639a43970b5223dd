// What posenc diagnose takes. Exit code 2 where --heads and --layout are both given, or a start and positions.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

// A rotation, an attention or a checkpoint.
void require_one_kind(const DiagnoseArguments& given) {
  const bool rotation = !given.before.empty() || !given.after.empty() || given.before_k || given.after_k;
  const bool attention = given.q || given.k || given.v || given.scores || given.out || given.tables;
  if (static_cast<int>(rotation) + static_cast<int>(attention) + static_cast<int>(given.weights.has_value()) != 1) {
    throw UsageError{"give --before and --after (a rotation), --q and --k (an attention) or --weights (a checkpoint)"};
  }
  if (rotation && (given.before.empty() || given.after.empty()))
    throw UsageError{"--before and --after are both needed"};
  if (given.before_k.has_value() != given.after_k.has_value()) {
    throw UsageError{"--before-k and --after-k are both needed"};
  }
  if (attention && (!given.q || !given.k || (!given.scores && !given.out))) {
    throw UsageError{"an attention needs --q, --k, and --scores or --out"};
  }
  if (given.out && !given.v) throw UsageError{"--out needs --v"};
  if (attention && !given.model) throw UsageError{"an attention needs --model"};
  if (!attention && (given.unrotated || given.cross)) throw UsageError{"--unrotated and --cross go with --q and --k"};
}

Command read_diagnose(const Given& given) {
  DiagnoseArguments out{.before = given.text_or("--before", ""),
                        .after = given.text_or("--after", ""),
                        .before_k = given.text("--before-k"),
                        .after_k = given.text("--after-k"),
                        .q = given.text("--q"),
                        .k = given.text("--k"),
                        .v = given.text("--v"),
                        .scores = given.text("--scores"),
                        .out = given.text("--out"),
                        .tables = given.text("--tables"),
                        .unrotated = given.has("--unrotated"),
                        .cross = given.has("--cross"),
                        .weights = given.text("--weights"),
                        .model = {},
                        .stack = given.text("--stack"),
                        .layer = given.whole("--layer", 0, INT64_MAX),
                        .rotation = given.whole("--rotation", 0, INT64_MAX),
                        .positions = given.text("--start"),
                        .length = given.whole("--length", 1, kLargestLength),
                        .heads = given.whole("--heads", 1, INT64_MAX),
                        .bf16 = given.has("--bf16"),
                        .json = given.has("--json")};
  if (given.has("--model")) {
    out.model = model_given(given, "--model");
  } else {
    no_set_without_model(given);
  }
  // In the order of TensorLayout.
  if (const auto layout = given.choice("--layout", {"thd", "htd", "bhtd", "bthd"})) {
    out.layout = static_cast<TensorLayout>(*layout);
  }
  if (out.layout && out.heads) {
    throw UsageError{"--heads and --layout exclude each other: with --heads the axes are tokens, or batch and tokens"};
  }
  require_one_kind(out);
  if (!out.model && !out.weights && (out.stack || out.layer || out.rotation)) {
    throw UsageError{"--stack, --layer and --rotation choose of a model: give --model"};
  }
  return out;
}

}  // namespace

CommandSpec diagnose_spec() {
  return {
      .name = "diagnose",
      .description = "What a port's rotation or attention did, and what of it is wrong",
      .options = {{.names = "--before",
                   .value = "FILE",
                   .description = "q or k before the rotation: .npy, .npz, safetensors or GGUF, f32, f16, bf16 or f64; "
                                  "FILE:TENSOR names one of several"},
                  {.names = "--after", .value = "FILE", .description = "The same after it"},
                  {.names = "--before-k",
                   .value = "FILE",
                   .description =
                       "With --before and --after of q: k of the same call, to see whether they were exchanged"},
                  {.names = "--after-k", .value = "FILE", .description = "The same after it"},
                  {.names = "--q",
                   .value = "FILE",
                   .description = "An attention instead of a rotation: the queries that scores were made of, rotated"},
                  {.names = "--k", .value = "FILE", .description = "The keys; KV heads once, or repeated"},
                  {.names = "--v", .value = "FILE", .description = "The values; needed with --out"},
                  {.names = "--scores",
                   .value = "FILE",
                   .description =
                       "[heads, queries, keys], with a batch before or not: what the softmax is of, or what it "
                       "makes, which is told by the numbers"},
                  {.names = "--out", .value = "FILE", .description = "The output, like q"},
                  {.names = "--tables",
                   .value = "FILE",
                   .description = "The layer's learned tables and sinks, as for attend --weights"},
                  {.names = "--unrotated", .description = "--q and --k are not rotated yet"},
                  {.names = "--cross", .description = "The cross attention of the block"},
                  {.names = "--weights",
                   .value = "FILE",
                   .description = "A checkpoint alone, safetensors, GGUF or llama2.c: in which order its q and k "
                                  "projections have their channels"},
                  {.names = "--model",
                   .value = "MODEL",
                   .description = "As for inspect: a file, a directory, the name of a preset, or -. Without it, what a "
                                  "rotation did is recovered as far as the tensors show it"},
                  set_option(),
                  {.names = "--layer",
                   .value = "N",
                   .description = "Counted from 0; may be omitted where all layers rotate alike"},
                  {.names = "--stack", .value = "NAME", .description = "decoder, encoder, vision, ..."},
                  {.names = "--rotation",
                   .value = "N",
                   .description = "Which of a layer's rotations, counted from 0; needed where there are several"},
                  {.names = "--start",
                   .value = "P",
                   .description = "The position of every sequence's first token; a list with one for each token, "
                                  "5,0,9; or a file of positions, "
                                  "[tokens] or [axes, tokens]. Omitted: not known"},
                  {.names = "--layout",
                   .value = "L",
                   .description = "The order of axes: thd (tokens, heads, head_dim), htd, bhtd (batch first), bthd; "
                                  "omitted: what fits the model"},
                  {.names = "--heads",
                   .value = "N",
                   .description = "The last axis holds N heads side by side: [tokens, heads * head_dim] or [batch, "
                                  "tokens, heads * head_dim]"},
                  {.names = "--length",
                   .value = "N",
                   .description = "Sequence length in tokens, for scaling rules that depend on it"},
                  {.names = "--bf16", .description = "16-bit raw elements of a .npy file are bfloat16"},
                  {.names = "--json", .description = "As JSON (docs/diagnose.md)"}},
      .footer =
          "Exit code 0: as the plan says; without --model, explained. 1: it differs. 7: the\n"
          "tensors cannot tell, and the report says what to dump.\n\n"
          "Examples:\n"
          "  posenc diagnose --before q.npy --after rotated.npy --model llama-3.1-8b\n"
          "  posenc diagnose --before d.npz:q --after d.npz:q_rot --model model/ \\\n"
          "    --layer 5 --start 4096\n"
          "  posenc diagnose --before k.npy --after k_rot.npy --json | jq .verdict\n"
          "  posenc diagnose --q d.npz --k d.npz --v d.npz --out d.npz --model gemma-3-4b \\\n"
          "    --layer 5\n"
          "  posenc diagnose --weights model/model.safetensors\n\n",
      .read = read_diagnose};
}

}  // namespace posenc::tool
