// Golden vectors: small q, k, v and positions of a layer, and what the float64 reference makes of them stage by stage,
// with a bound for every dtype that a port may compute in; and the check of a port's outputs against them.
//
//   const Vectors golden = make_vectors(plan, {.layer = 5});
//   write_vectors("golden", vector_files(golden, {.format = VectorFormat::npy}));
//   const PortCheck found = check_port(golden, outputs);     // outputs: "q_rotated", "out", ... as the port made them
//
// Everything is a function of the plan and the options: the same call gives the same bytes. Inputs are exact in
// bfloat16, float16 and float32, so that every port starts from the same numbers. The stages and their equation are
// those of reference_attend.h; the bounds are derived in docs/vectors.md.
//
// Thread safety: functions of their arguments, on the caller's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/attention.h"
#include "posenc/diagnose.h"
#include "posenc/error.h"
#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"
#include "posenc/tensor_file.h"

namespace posenc::inline v0_2 {

// Tokens of a layer's vectors, at most: the reference takes its time for each query and key.
inline constexpr std::int64_t kMostVectorTokens = 256;

struct VectorOptions {
  std::optional<std::string> stack{};    // "decoder"; may be omitted where one stack attends
  std::optional<std::int64_t> layer{};   // LayerPlan::index; may be omitted where all layers of the stack are alike
  std::optional<std::int64_t> tokens{};  // omitted: 12, or more where the layer's rules have more edges
  // Tokens stand at start, start + 1, ... Omitted: at 0, 1, 2 and on both sides of every edge of the layer's rules: its
  // window, its chunks, the length from which LongRoPE takes its long list, the last bucket of a bias, and the like.
  std::optional<std::int64_t> start{};
  std::optional<std::int64_t> length{};  // for rules that depend on it; omitted: the plan's, or the last position + 1
  bool cross = false;                    // cross-attention of the layer instead of its self-attention
  bool operator==(const VectorOptions&) const = default;
};

// Of inputs: "q", "k" [tokens, heads, head_dim], "v" [tokens, kv_heads, value_dim], "positions" [tokens] or
// [axes, tokens]; the layer's learned tables by the names of named_weights.h; where masks or terms need them "order"
// [tokens], "attn_mask" [tokens, tokens], "bias" [heads, tokens, tokens], "log_forget", "row_gate" [tokens, heads],
// "segments_of_tokens" [tokens] and "prefix" [1].
// Of results: "inv_freq" [pairs], "cos", "sin" [tokens, pairs] (with the attention factor; of a second rotation
// "inv_freq_1" and so on), "q_rotated", "k_rotated", "scores" [heads, tokens, tokens] (what the softmax is made of,
// -inf where the query does not see the key), "mask" [tokens, tokens] (1: seen), "out" [tokens, heads, value_dim].
struct VectorTensor {
  std::string name;
  std::vector<std::int64_t> shape{};
  std::vector<double> values{};  // row-major
  std::string axes{};            // "tokens, heads, head_dim"
  bool is_input = false;
  bool is_whole = false;  // positions, masks, segments: whole numbers
  bool operator==(const VectorTensor&) const = default;
};

// |port - expected| <= absolute[token] + relative |expected|, for every element of a token. Scores have the query's.
struct VectorBound {
  std::string tensor;
  double relative = 0.0;
  std::vector<double> absolute;  // [tokens]; of inv_freq [1]
  bool operator==(const VectorBound&) const = default;
};

// Of a port that stores every stage in this dtype, computes its angles in float32 or better, and accumulates products
// and the softmax in float32 or better.
struct VectorBounds {
  DType dtype = DType::f32;  // f32, bf16, f16
  double unit = 0.0;         // half a unit in the last place, relatively: 2^-24, 2^-8, 2^-11
  std::vector<VectorBound> bounds;
  bool operator==(const VectorBounds&) const = default;
};

struct POSENC_API Vectors {
  Plan plan;              // as it was given
  VectorOptions options;  // as they were used: nothing is omitted but start, where positions were chosen
  std::string stack;
  LayerPlan layer;  // that is computed: the plan's, with fewer heads where that changes no number of a head
  std::int64_t plan_heads = 0;
  std::int64_t plan_kv_heads = 0;
  std::vector<double> attention_factor;  // of each main rotation
  std::vector<std::string> facts;        // what the layer does with positions, a sentence each
  std::vector<std::string> left_out;     // stages that are not there, and why
  std::vector<ValueSource> sources;      // of the layer's values: `where` from the layer on, "rotate/0/base"
  std::vector<VectorTensor> tensors;     // inputs first
  std::vector<VectorBounds> bounds;      // float32, bfloat16, float16
  bool operator==(const Vectors&) const = default;

  const VectorTensor* find(std::string_view name) const noexcept;  // null: not there
};

// Throws Error for a layer that is not there, that must be said since layers differ, that does not attend, or whose
// positions are not known; for tokens, a start or a length out of range; and for what the layer's rules refuse. A stage
// that a layer has but cannot be stated (scores where the norm follows the rotation) is in `left_out` instead.
POSENC_API Vectors make_vectors(const Plan& plan, const VectorOptions& options = {});

// Inputs of a caller's own, which a port was run on, in place of drawn ones. Of any dtype; read before the call
// returns.
struct VectorInputs {
  ConstTensorView q{};  // [tokens, heads, head_dim]; of a rotation alone q or k
  ConstTensorView k{};  // [tokens, kv_heads, head_dim]
  ConstTensorView v{};  // [tokens, kv_heads, value_dim]; omitted: there is the rotation alone
  // Whole numbers, [axes, tokens]; omitted: options.start, which is 0 by default, and on. Masks count the tokens.
  std::span<const std::int64_t> positions{};
  std::span<const NamedTensor> tables{};  // the layer's learned tables by the names of named_weights.h, others too
};

// The same stages and bounds, of these inputs; options.tokens is theirs. Throws Error as above, and for inputs that do
// not fit the layer or each other, hold a NaN or an infinity, or are more than the reference takes a few seconds for.
POSENC_API Vectors make_vectors(const Plan& plan, const VectorOptions& options, const VectorInputs& inputs);

// The vectors' inputs as attend takes them, the whole numbers in memory of its own: it is neither copied nor moved.
struct POSENC_API VectorCall {
  // Views of `vectors`, which has to outlive them. Throws Error for vectors that lack an input of their layer.
  explicit VectorCall(const Vectors& vectors);
  VectorCall(const VectorCall&) = delete;
  VectorCall& operator=(const VectorCall&) = delete;

  ConstTensorView q{};  // f64
  ConstTensorView k{};
  ConstTensorView v{};
  LayerWeights weights{};
  LayerInputs inputs{};
  std::vector<std::int64_t> positions{};  // [axes, tokens]
  std::vector<std::int64_t> order{};
  std::vector<std::int32_t> segments{};
};

// ---- files ----

enum class VectorFormat : std::uint8_t { npy, safetensors, json, c, rust, python };
// A test of somebody's port that reads the files: it calls port_rotate and port_attend, which the port's author fills
// in, and fails until then.
enum class VectorTest : std::uint8_t { none, pytest, googletest, c, cargo };
POSENC_API std::string_view name(VectorFormat format) noexcept;
POSENC_API std::string_view name(VectorTest test) noexcept;

struct VectorFileOptions {
  VectorFormat format = VectorFormat::npy;
  // Omitted: pytest; of c the C program, of rust cargo. googletest and c go with c, cargo with rust, pytest with
  // others.
  std::optional<VectorTest> test{};
};

struct VectorFile {
  std::string name;  // "vectors.json", "q.npy"
  std::string bytes;
  bool operator==(const VectorFile&) const = default;
};

// All files of a directory of vectors, "vectors.json" first: the manifest (docs/vectors.schema.json), in formats other
// than npy and safetensors with the numbers. "plan.json" is the plan. Throws Error for a test that does not go with the
// format.
POSENC_API std::vector<VectorFile> vector_files(const Vectors& vectors, const VectorFileOptions& options = {});

// Writes them so that the directory is there whole or not at all; gives the bytes written. Nothing may stand there but
// an empty directory: a port that was filled in is not written over. Throws Error for no files, and for a name that
// stands twice or has a folder.
POSENC_API Result<std::int64_t> write_vectors(const std::filesystem::path& directory,
                                              std::span<const VectorFile> files);

// What write_vectors wrote: numbers and bounds are those of the files, the rest follows from their plan.
POSENC_API Result<Vectors> read_vectors(const std::filesystem::path& directory);

// ---- a port's outputs ----

struct CheckPortOptions {
  // What the port computes in; omitted: what its tensors are stored in, float32 for f32 and f64.
  std::optional<DType> dtype{};
  bool diagnose = true;  // what is wrong, where something is
};

// Of one of a port's tensors.
struct CheckedTensor {
  std::string name;    // "q_rotated"
  DType dtype{};       // whose bound it was held to
  std::string layout;  // how its axes were taken: "tokens, heads, head_dim"
  bool passes = false;
  double largest = 0.0;     // |port - expected|
  double over_bound = 0.0;  // the largest error over its bound; infinite for a NaN and for a mask that is another
  std::vector<std::int64_t> worst{};  // where that stands, in the expected tensor's axes
  double got = 0.0;
  double expected = 0.0;
  double bound = 0.0;
  std::int64_t elements = 0;
  std::int64_t above = 0;  // of them, above the bound
  std::string remark;      // "hidden keys are not masked"; empty where there is nothing to say
  bool operator==(const CheckedTensor&) const = default;
};

struct PortCheck {
  bool passes = false;
  std::vector<CheckedTensor> tensors{};  // in the order of the stages
  std::string first_failure{};           // of them; empty where all pass
  std::string diagnosed{};               // the tensor that was diagnosed: "q", "k", "scores", "out"
  std::optional<Diagnosis> diagnosis{};  // of the rotation
  std::vector<PortFinding> findings{};   // of the attention: what was done instead
  bool operator==(const PortCheck&) const = default;
};

// `outputs`: any of the vectors' results by name, of any dtype. Axes as in the vectors, or heads before tokens, with
// a batch of 1 before them, or heads and channels side by side on the last axis. Throws Error where there is none, for
// a name that the vectors have no result of, for one that stands twice, and for a shape that fits none of these.
POSENC_API PortCheck check_port(const Vectors& vectors, std::span<const NamedTensor> outputs,
                                const CheckPortOptions& options = {});

// "passes" or "fails" on the first line. Plain ASCII, lines of at most 80 columns.
POSENC_API std::string describe(const PortCheck& check);
POSENC_API std::string describe(const Vectors& vectors);
// {"schema_version", "passes", "first_failure", "tensors": [...], "diagnosed", "diagnosis", "findings"}
POSENC_API std::string to_json(const PortCheck& check);

}  // namespace posenc::inline v0_2
