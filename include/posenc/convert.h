// A checkpoint's q and k projections from one pairing to the other: half-split (Hugging Face's Llama) to interleaved
// (Meta's, GGUF's `llama`) and back, file to file.
//
//   auto done = posenc::convert({.source = "llama/", .output = "llama-interleaved/", .to = Pairing::interleaved});
//   if (!done) report(done.error().message());
//
// Only rows move, by pairing_order (pairing.h): of weights and biases, of the weights of a QK norm, of a row's own
// scale, of LoRA's B. Whatever a row is made of (bf16, fp8, ggml's blocks) it moves whole, so that there and back gives
// the same bytes, NaNs included; every other byte of a file is copied as it is, but for a mark: a text in safetensors'
// __metadata__ or a key of GGUF, "posenc.pairing.decoder", that says how the rows pair now. Of a file with one it
// holds, not the plan: what is so already is refused, and the way back takes the mark out again. docs/convert.md says
// which tensors of which formats move, and what is refused.
//
// All of it is decided, and refused by name, before anything is written. The work is done in OUTPUT.posenc-partial,
// which becomes the output when it is whole and its scores have been checked: the output is never half a model. What
// was killed goes on from there, after comparing what is there with what it should be.
//
// Memory: some MiB, whatever the size of a tensor. Thread safety: a function of its arguments, on the caller's thread;
// a second conversion to the same output is refused while one is at work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/error.h"
#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/rope.h"

namespace posenc::inline v0_2 {

// What the rows of a tensor are for.
enum class ConvertedPart : std::uint8_t {
  queries,           // q_proj, and q_b_proj of a latent attention: [heads * head_dim, ...]
  keys,              // k_proj: [kv_heads * head_dim, ...]
  latent_keys,       // kv_a_proj_with_mqa: the last rows, which all heads share
  queries_and_keys,  // a fused projection
  query_norm,
  key_norm,
};

// A tensor of which rows move. Where a tensor has no second axis, a row is one element.
struct ConvertedTensor {
  std::string name;
  std::string file;  // its name, without a folder
  std::string type;  // as the file spells it: "BF16", "Q4_K"
  std::vector<std::int64_t> shape;
  ConvertedPart part = ConvertedPart::queries;
  std::int64_t layer = 0;
  std::int64_t heads = 0;          // whose rows move
  std::int64_t first_channel = 0;  // of a head, the first that moves
  std::int64_t dim = 0;            // channels of a head that move
  bool operator==(const ConvertedTensor&) const = default;
};

// What config.json says of the pairing.
struct ConfigChange {
  std::string key;    // a JSON pointer, "/rope_interleave"
  std::string value;  // "false"
  bool operator==(const ConfigChange&) const = default;
};

struct Conversion {
  Pairing from = Pairing::half;
  Pairing to = Pairing::half;
  std::string stack;
  bool adapter = false;                  // LoRA's matrices without the model's own
  std::vector<std::string> files;        // with tensors, in their order
  std::vector<ConvertedTensor> tensors;  // in the order of files, and of data in each
  std::int64_t copied = 0;               // tensors that stay as they are
  std::int64_t bytes = 0;                // of all files
  std::vector<ConfigChange> config;      // what config.json says now, where its class reads a key for it
  // In each file whose rows move: the key, and the pairing that it says. An empty value: it is there no more.
  ConfigChange mark;
  std::vector<std::string> beside;  // other files that are copied with a folder
  std::vector<std::string> notes;   // what is left as it is, and what the format cannot say; a sentence each
  // What was checked at the end: pairs of a query head and its KV head, and the largest difference of a score, over the
  // sum of the magnitudes of its terms. 0 pairs in a dry run.
  std::int64_t checked_heads = 0;
  double score_difference = 0.0;
  std::int64_t found_bytes = 0;  // that an earlier run had written, and that were as they should be
  bool operator==(const Conversion&) const = default;
};

enum class ConvertStage : std::uint8_t { copying, checking };

struct ConvertArgs {
  // A folder with model.safetensors.index.json, model.safetensors or adapter_model.safetensors; one .safetensors, an
  // index, or a GGUF file (of a model in parts, the first).
  std::filesystem::path source;
  // Of a folder, an index or parts: a folder, which must not exist or be empty. Of one file: a file. Not looked at in a
  // dry run.
  std::filesystem::path output{};
  Required<Pairing> to;
  // What the rows are now, where it is not what the plan says, nor a mark of an earlier conversion. Converting what is
  // so already is refused without it.
  std::optional<Pairing> from{};
  const Plan* plan = nullptr;  // omitted: that of the GGUF file, or of the config.json beside the weights
  std::string stack{};         // whose projections; empty: the plan's first that rotates
  // Rows that a head has in the file where they are more than the plan's head_dim: the rest must be zeros.
  std::optional<std::int64_t> padded_head_dim{};
  bool again = false;    // marks of earlier conversions do not hold: rows are what the plan or `from` says
  bool replace = false;  // an output that is one file
  bool dry_run = false;  // everything but writing
  // Asked every few MiB, with the bytes done of all that are to be copied or read. False stops: an error, and what was
  // written stays in OUTPUT.posenc-partial, from which the same call goes on.
  std::function<bool(ConvertStage stage, std::int64_t done, std::int64_t all)> keep_going{};
};

// A FileError for a checkpoint that cannot be read, written, or converted as a whole: the tensor, what was expected of
// it, and why. Throws Error for an unknown stack, for a plan whose layers' rotations no order of rows can convert, and
// for a checkpoint that is `to` already, by its plan or by its mark.
POSENC_API Result<Conversion> convert(const ConvertArgs& args);

POSENC_API std::string_view name(ConvertedPart part) noexcept;

// What was done, or would be: the totals, a line for each tensor, the notes. Plain ASCII, lines of at most 80 columns.
POSENC_API std::string describe(const Conversion& conversion);

// {"schema_version", "from", "to", "stack", "adapter", "files": [], "bytes", "tensors": [{"name", "file", "type",
// "shape", "part", "layer", "heads", "first_channel", "dim"}], "copied", "config": [{"key", "value"}], "mark": {"key",
// "value"}, "beside": [], "notes": [], "checked_heads", "score_difference", "found_bytes"}
POSENC_API std::string to_json(const Conversion& conversion);

}  // namespace posenc::inline v0_2
