// The command line: what was asked for, or what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "line/model_word.h"
#include "plot/plot_arguments.h"
#include "posenc/attend.h"
#include "posenc/emit.h"
#include "posenc/feature_map.h"
#include "posenc/info.h"
#include "posenc/rope.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/vectors.h"

namespace posenc::tool {

// posenc inspect MODEL... `layer`, counted from 0, and `stack` narrow what is printed, not what is read; `length`, in
// tokens, is for rules that depend on it. `strict`: warnings, and facts that could not be decided, are exit code 1.
// `patch`: not the plan, but how others are told what --set says. `brief`: a line for each model; without it there is
// one.
struct InspectArguments {
  std::vector<ModelWord> models;
  std::optional<std::int64_t> layer;
  std::optional<std::string> stack;
  std::optional<std::int64_t> length;
  bool json = false;
  bool strict = false;
  bool patch = false;
  bool brief = false;
};
// posenc survey LIST. `set` and `length` are of every model; `out` omitted: standard output; `jobs` omitted:
// default_threads().
struct SurveyArguments {
  std::string list;
  std::vector<std::string> set{};
  std::optional<std::int64_t> length;
  std::optional<std::string> out;
  std::optional<std::int64_t> jobs;
  bool resume = false;
  bool force = false;
};
// posenc compare A B. `tolerance`, in radians; when omitted that of CompareOptions (compare.h). `ignore_row_order`: the
// rows that a conversion to GGUF puts in another order are no difference.
struct CompareArguments {
  ModelWord a;
  ModelWord b;
  std::optional<std::int64_t> length;
  std::optional<double> tolerance;
  bool ignore_row_order = false;
  bool json = false;
};
// The order of a tensor's axes: t tokens, h heads, d channels, b sequences.
enum class TensorLayout : std::uint8_t { thd, htd, bhtd, bthd };
// What rotate and attend have in common: a layer of a model takes tensors of files.
// `model` is a MODEL as inspect takes it, `out` the file of -o, .npy or .safetensors by its ending. Without a stack or
// a layer, all that the plan has must do alike; without a length, it is the last position + 1; without a layout, the
// number of axes decides; with heads, no layout, and the last axis has all of them. `bf16`: elements of 16 raw bits in
// a .npy file are bfloat16. `force` replaces `out`.
struct LayerJob {
  ModelWord model;
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> length;
  std::string out;
  std::optional<TensorLayout> layout;
  std::optional<std::int64_t> heads;    // side by side on the last axis
  std::optional<std::int64_t> threads;  // left out: default_threads()
  Isa isa = Isa::automatic;
  bool bf16 = false;
  bool force = false;
  bool check = false;
  bool json = false;
};
// posenc rotate. q, k or both are there. `rotation`: which of the layer's, counted from 0. `positions`: START, a list
// or a FILE[:NAME] (tensors/row_positions.h).
struct RotateArguments {
  LayerJob job;
  std::optional<std::int64_t> rotation;
  std::optional<std::string> q;  // FILE or FILE:TENSOR
  std::optional<std::string> k;
  std::string positions = "0";
  Direction direction = Direction::forward;
  Angles angles = Angles::exact;
  bool again = false;                   // though a file says that it has been done
  std::optional<std::string> expect{};  // a port's output, FILE or FILE:TENSOR
};
// posenc attend. `cross`: the layer's attention to an encoder. `weights`: a file of learned tables (attend_tables.h).
// q_rotated, k_rotated: RoPE has been applied to them already. `lse`: `out` holds the log-sum-exp of scores as well.
struct AttendArguments {
  LayerJob job;
  bool cross = false;
  std::string q;  // FILE or FILE:TENSOR
  std::string k;
  std::string v;
  std::optional<std::string> weights;
  std::optional<std::string> positions;    // of the keys
  std::optional<std::string> q_positions;  // left out: queries are the last of the keys' tokens
  std::optional<std::string> mask;         // instead of the layer's
  bool q_rotated = false;
  bool k_rotated = false;
  bool lse = false;
  Products products = Products::f32;
  std::optional<FeatureMap> linear;     // linear attention instead of a softmax
  std::optional<std::string> expect{};  // a port's output, FILE or FILE:TENSOR
};
// posenc diagnose. `model` omitted: what was done is recovered. `positions`: START, a list or a FILE[:NAME]
// (tensors/row_positions.h); omitted: not known. `layout`, `heads`, `bf16`: as in LayerJob.
struct DiagnoseArguments {
  std::string before;  // FILE or FILE:TENSOR; empty where attention or weights are asked for
  std::string after;
  std::optional<std::string> before_k;  // with after_k: keys of the same call
  std::optional<std::string> after_k;
  std::optional<std::string> q;  // with k: attention
  std::optional<std::string> k;
  std::optional<std::string> v;
  std::optional<std::string> scores;
  std::optional<std::string> out;
  std::optional<std::string> tables;  // learned ones of the layer
  bool unrotated = false;
  bool cross = false;
  std::optional<std::string> weights;  // a checkpoint
  std::optional<ModelWord> model;
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> rotation;
  std::optional<std::string> positions;
  std::optional<std::int64_t> length;
  std::optional<TensorLayout> layout;
  std::optional<std::int64_t> heads;
  bool bf16 = false;
  bool json = false;
};
// posenc convert SOURCE -o OUT. `to`, `from`: as Pairing; `from` omitted: what the model's plan says. `force` replaces
// an output that is one file.
struct ConvertArguments {
  std::string source;
  std::optional<std::string> out;  // there unless it is a dry run
  Pairing to = Pairing::half;
  std::optional<Pairing> from;
  std::optional<ModelWord> model;
  std::optional<std::string> stack;
  std::optional<std::int64_t> padded_head_dim;
  bool again = false;
  bool dry_run = false;
  bool force = false;
  bool json = false;
};
// posenc vectors. `out` is the directory; without a start, tokens stand at the edges of the layer's rules.
struct VectorsArguments {
  ModelWord model;
  std::string out;
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  bool cross = false;
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> length;
  VectorFormat format = VectorFormat::npy;
  std::optional<VectorTest> test{};  // left out: the one of the format
  bool json = false;
};
// posenc check. `against`: a file or a directory of the port's outputs; `as`: which of them a .npy file is.
struct CheckArguments {
  std::string directory;
  std::string against;
  std::optional<std::string> as;
  std::optional<DType> dtype{};
  bool bf16 = false;
  bool json = false;
};
// posenc emit. `out`: a folder; omitted: standard output.
struct EmitArguments {
  ModelWord model;
  EmitTarget as = EmitTarget::numpy;
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  bool cross = false;
  std::optional<std::int64_t> length;
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
};
// posenc report. `out`: the page; omitted: standard output.
struct ReportArguments {
  std::vector<ModelWord> models{};
  std::optional<ModelWord> against{};
  std::optional<std::int64_t> length;
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
};
// posenc extend.
struct ExtendArguments {
  ModelWord model;
  std::int64_t to = 1;
  std::optional<std::int64_t> from;
  std::optional<std::string> q;  // words of tensors: both or neither
  std::optional<std::string> k;
  std::optional<std::string> weights;     // instead of these: a checkpoint
  std::optional<std::string> checkpoint;  // to measure the ways with; of the others of these, none without it
  std::string text;
  std::optional<std::string> tokenizer;
  std::optional<std::string> results;
  std::int64_t windows = 2;
  std::optional<std::int64_t> search;  // lists of factors that are tried
  std::int64_t seed = 0;
  bool json = false;
};
// posenc cache.
struct CacheArguments {
  ModelWord model;
  std::optional<std::string> stack;
  bool simulate = false;
  std::int64_t shift_by = 1;
  bool json = false;
};
// posenc bench rotate: whose shapes and frequencies are timed. Dtypes and numbers of tokens are fixed; threads are
// those of POSENC_THREADS or the machine.
struct BenchRotateArguments {
  ModelWord model{.name = "llama-3.1-8b"};
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  std::optional<std::int64_t> rotation;
  bool json = false;
};
// posenc bench attend. `tokens`: a prompt of so many, and decode over so many keys. `dtype`: when omitted f32 and bf16.
// `weights`: when omitted drawn at random.
struct BenchAttendArguments {
  ModelWord model{.name = "llama-3.1-8b"};
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;  // left out: one of each kind
  bool cross = false;
  std::optional<std::string> weights;
  std::optional<std::int64_t> tokens;
  std::optional<DType> dtype;
  std::int64_t threads = 1;
  Isa isa = Isa::automatic;
  Products products = Products::f32;
  bool backward = false;
  bool json = false;
};
// Which table posenc properties prints: without a flag the properties, else that of --list, --cost, and so on.
enum class PropertiesView : std::uint8_t { properties, list, cost, order, four_terms, decay, noise };
struct PropertiesArguments {
  PropertiesView view = PropertiesView::properties;
  std::vector<std::string> schemes;  // none: all that the view is about
  std::int64_t tokens = 512;         // whose cost is counted
  bool json = false;
};
struct InfoArguments {
  bool json = false;
};
struct PresetsArguments {
  bool json = false;
};
struct DemoArguments {
  ModelWord preset{.name = "llama-3.1-8b"};
  bool json = false;
};
// --help and --version: text for standard output.
struct Words {
  std::string text;
};

// What was asked for: one command with its arguments. main() has a run() for each.
using Command =
    std::variant<InspectArguments, SurveyArguments, CompareArguments, RotateArguments, AttendArguments,
                 DiagnoseArguments, ConvertArguments, VectorsArguments, CheckArguments, EmitArguments, ReportArguments,
                 ExtendArguments, CacheArguments, PlotArguments, BenchRotateArguments, BenchAttendArguments,
                 PropertiesArguments, InfoArguments, PresetsArguments, DemoArguments, Words>;

// A command line that cannot be followed. what() is the message, without "posenc: ".
struct UsageError {
  std::string message;
};

// Throws UsageError.
Command read_command_line(int argc, const char* const* argv);

}  // namespace posenc::tool
