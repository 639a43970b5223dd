// What posenc extend takes.
#include "line/command_spec.h"
#include "line/model_option.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kMostWindows = 1000;
constexpr std::int64_t kMostTries = 100000;

Command read_extend(const Given& given) {
  ExtendArguments out{.model = model_given(given, "MODEL"),
                      .from = given.whole("--from", 1, kLargestLength),
                      .q = given.text("--q"),
                      .k = given.text("--k"),
                      .weights = given.text("--weights"),
                      .checkpoint = given.text("--evaluate"),
                      .text = given.text_or("--text", ""),
                      .tokenizer = given.text("--tokenizer"),
                      .results = given.text("--results"),
                      .windows = given.whole("--windows", 1, kMostWindows).value_or(2),
                      .search = given.whole("--search", 1, kMostTries),
                      .seed = given.whole("--seed", 0, kLargestLength).value_or(0),
                      .json = given.has("--json")};
  if (out.checkpoint && !given.has("--text")) throw UsageError{"--evaluate needs a --text to measure the loss on"};
  if (out.q.has_value() != out.k.has_value()) throw UsageError{"--q and --k are given together, or neither"};
  if (out.q && out.weights) throw UsageError{"--weights stands instead of --q and --k"};
  for (const char* const name : {"--text", "--tokenizer", "--results", "--windows", "--search"}) {
    if (!out.checkpoint && given.has(name)) throw UsageError{std::string(name) + " is for --evaluate"};
  }
  if (!out.search && given.has("--seed")) throw UsageError{"--seed is for --search"};
  out.to = given.whole("--to", 1, kLargestLength).value_or(1);
  return out;
}

}  // namespace

CommandSpec extend_spec() {
  return {
      .name = "extend",
      .description = "Can this model go to a longer context: every way of stretching its rotation, side by side",
      .options = {{.names = "MODEL",
                   .description = "As for inspect: a file, a directory, the name of a preset, or -",
                   .required = true},
                  set_option(),
                  {.names = "--to", .value = "N", .description = "The length in tokens", .required = true},
                  {.names = "--from",
                   .value = "N",
                   .description = "The length that it was trained for before any rule; by default what the rule's "
                                  "own numbers or the file's trained length say"},
                  {.names = "--q",
                   .value = "FILE",
                   .description = "Queries of the layer before its rotation, as for rotate: entropies are of these, "
                                  "too. [tokens, heads, head_dim]"},
                  {.names = "--k", .value = "FILE", .description = "Keys of the same"},
                  {.names = "--weights",
                   .value = "CHECKPOINT",
                   .description = "Instead of these: entropies of the queries and keys that the layer's projections "
                                  "make of random inputs. Safetensors, GGUF, or a folder"},
                  {.names = "--evaluate",
                   .value = "CHECKPOINT",
                   .description = "Measures each way: the loss by position, and the recall of a key, by a "
                                  "checkpoint of MODEL, of the Llama family: a folder with config.json and "
                                  "safetensors, or a file of llama2.c"},
                  {.names = "--text",
                   .value = "FILE",
                   .description = "What the loss is measured on: token ids, or "
                                  "with --tokenizer text"},
                  {.names = "--tokenizer", .value = "FILE", .description = "Of llama2.c (tokenizer.bin)"},
                  {.names = "--windows",
                   .value = "N",
                   .description = "Stretches of the text that are read, of --to tokens each [2]"},
                  {.names = "--results",
                   .value = "FILE",
                   .description = "Keeps what is measured as JSON lines; the same call goes on from there"},
                  {.names = "--search",
                   .value = "N",
                   .description = "LongRoPE's search by that loss: N lists of a factor a pair are tried, on further "
                                  "--windows of the text, and the best is measured beside the other ways"},
                  {.names = "--seed", .value = "N", .description = "Of the search: another one [0]"},
                  {.names = "--json", .description = "As JSON (docs/extend.md)"}},
      .footer =
          "It says what frequencies alone can say, and names what they cannot: measure the\n"
          "loss and the recall of the way that you take, here by --evaluate, which runs the\n"
          "model on one core in f32, or in your own engine.\n\n"
          "Examples:\n"
          "  posenc extend qwen3-8b --to 131072\n"
          "  posenc extend config.json --to 32768 --from 8192\n"
          "  posenc extend llama-3.1-8b --to 1048576 --json | jq .recommended\n"
          "  posenc extend Llama-3.2-1B/ --to 262144 --evaluate Llama-3.2-1B/ \\\n"
          "      --text ids.txt --results measured.jsonl\n"
          "  posenc report qwen3-8b --against qwen3-8b --length 131072 \\\n"
          "      --set-against rope_scaling=yarn,factor=3.2,original=40960 -o yarn.html\n\n",
      .read = read_extend};
}

}  // namespace posenc::tool
