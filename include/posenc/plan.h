// A plan: everything that a model does with positions, layer by layer, and where each value came from.
//
// read_plan.h makes plans from model files. A plan is a plain value: compare with ==, print with describe(), write and
// read as JSON (schema: docs/plan.schema.json). Frequencies are not stored: frequencies(rope, plan.length) gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "posenc/error.h"
#include "posenc/export.h"
#include "posenc/rope.h"
#include "posenc/schemes.h"
#include "posenc/warning.h"

namespace posenc::inline v0_2 {

// Deformable attention, arXiv 2010.04159: values are sampled at places, and weighted by numbers, that are both made of
// the query alone. There is no product of queries and keys.
enum class LayerKind : std::uint8_t {
  attention,
  cross_attention,
  linear_attention,
  state_space,
  convolution,
  deformable_attention,
  none
};

// A second rotation in a layer belongs to the indexer that picks keys (DeepSeek V3.2). Wav2Vec2-Conformer rotates
// hidden states, a head's width at a time, before they are projected to queries and keys: its scores do not depend on
// i - j alone, and its keys cannot be rotated again.
enum class RotateRole : std::uint8_t { main, indexer, before_projection };

struct Rotate {
  RotateRole role = RotateRole::main;
  std::int64_t heads = 0;  // query heads that rotate; of a main rotation fewer than the layer has: the first of them
  std::variant<Rope, XPos> scheme;
  std::int64_t offset{};  // added to every coordinate (Llama 4's patches count from 1)
  bool operator==(const Rotate&) const = default;
};

// The rotation's Rope, whichever scheme it is.
POSENC_API const Rope& rope(const Rotate& rotate) noexcept;

// A sliding window: visible iff -future <= i - j <= past, by order in the sequence. `sliding_window: w` means
// past w - 1, future 0.
struct Window {
  std::int64_t past = 0;
  std::int64_t future = 0;
  bool operator==(const Window&) const = default;
};

enum class MaskKind : std::uint8_t { causal, bidirectional, prefix, sparse };

struct Mask {
  MaskKind kind = MaskKind::causal;
  std::optional<Window> window;
  std::optional<std::int64_t> chunk;  // chunked attention: only keys of the query's own chunk of so many tokens
  std::string detail;                 // what `sparse` and `prefix` mean here; empty when there is nothing to say
  // What the detail comes to for a KV cache. Of a sparse mask keys beyond the window are seen in any case.
  bool beyond_window = false;  // some keys outside the window or chunk are seen: all images, all that one call is given
  bool by_blocks = false;      // which keys are seen depends on where blocks of the sequence begin
  bool by_indexer = false;     // an indexer picks keys, by numbers that are cached beside them
  bool operator==(const Mask&) const = default;
};

// Logit soft-capping (Gemma 2): z = cap * tanh(y / cap).
struct SoftCap {
  enum class Order : std::uint8_t { after_bias, before_bias };
  double cap = 0.0;
  Order order = Order::after_bias;
  bool operator==(const SoftCap&) const = default;
};

// QK norm: normalisation of q and k. With weights and after the rotation, cached keys cannot be rotated again.
struct QkNorm {
  enum class Kind : std::uint8_t { rms, l2, layer };
  enum class Order : std::uint8_t { before, after };  // the rotation
  enum class Over : std::uint8_t { head, all_heads };
  enum class Of : std::uint8_t { queries_and_keys, keys };  // Reformer's LSH layers: keys
  Kind kind = Kind::rms;
  Order order = Order::before;
  bool weighted = true;
  Over over = Over::head;
  Of of = Of::queries_and_keys;
  bool weighted_queries = true;  // false: of weighted norms only that of keys has weights (DeepSeek V4)
  bool operator==(const QkNorm&) const = default;
};

// What a layer adds to what it is made of, in every layer again: to its queries and keys, and not to its values (DETR,
// arXiv 2005.12872; SAM). `attend` is given q and k that have it.
enum class AddedTo : std::uint8_t {
  queries,
  keys,
  queries_and_keys,
  keys_and_values,  // Mask2Former: a row for the level of the pyramid that a layer looks at
  hidden_states,    // all of them, and what stands beside the layer too (YOLOS)
};
enum class AddedHow : std::uint8_t {
  before_projection,  // to the hidden states
  projected,          // by a projection of its own, to the projected hidden states (Conditional DETR, arXiv 2108.06152)
  beside,             // by a projection of its own, into channels of each head beside those of the hidden states
};
struct Added {
  AddedTo to = AddedTo::queries_and_keys;
  AddedHow how = AddedHow::before_projection;
  bool gated = false;  // times numbers that are made of the hidden states (Conditional DETR, DAB-DETR)
  InputScheme scheme;
  bool operator==(const Added&) const = default;
};

// What a layer makes of other tokens besides what it attends to: its KV cache, and the hidden states above, hold it.
struct Mixing {
  // Keys or values are made of their own token and so many before it: short convolutions, values that are shifted
  // (Zaya: 2). Nothing: of more, and the plan does not say of how many.
  std::optional<std::int64_t> tokens_before = 0;
  bool outputs = false;  // convolutions follow attention and the MLP too (Inkling): hidden states are mixed without it
  // A recurrent mixer in the same block, with a state of all tokens so far (Falcon-H1: state_space).
  std::optional<LayerKind> beside{};
  bool operator==(const Mixing&) const = default;
};

// Everything that one attention sub-layer does with positions. Layers without attention carry index and kind only, and
// whether a state begins apart.
struct LayerPlan {
  std::int64_t index = 0;  // of the block; self and cross attention of one block share it
  LayerKind kind = LayerKind::attention;
  // Of a state: it takes in the token at position 0 otherwise than all others (RG-LRU, arXiv 2402.19427).
  bool begins_apart = false;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::optional<std::int64_t> kv_from;  // shares the KV cache of that layer
  // Beside the window, keys made of so many tokens each, at the positions that are its multiples (DeepSeek V4).
  std::optional<std::int64_t> compression{};
  Mixing mixing{};
  double softmax_scale = 1.0;  // the final factor on q.k (1/sqrt(d) in most models), every constant folded in
  bool channel_scale = false;  // a learned factor per channel besides (Gemma 4's audio; of Swin v2 one per head)
  std::optional<SoftCap> soft_cap;
  bool sinks = false;
  std::optional<QkNorm> qk_norm;
  Mask mask;
  std::vector<Added> added{};
  std::vector<Rotate> rotate;
  Regions regions{};  // of the main rotation
  std::vector<ScoreTerm> score;
  ValueScheme value;
  QueryScale query_scale;
  bool operator==(const LayerPlan&) const = default;
};

// What enters the first layer of a stack, where `input` says nothing else.
enum class FedBy : std::uint8_t {
  not_said,      // tokens, patches, frames, another stack's hidden states
  tokens,        // embeddings, of one token each
  mixed_tokens,  // each made of several: hashed n-grams, a codec's convolutions, patches that are normalised by others
};

struct Stack {
  std::string name;  // "decoder", "encoder", "vision", "audio"
  std::vector<InputScheme> input;
  std::vector<LayerPlan> layers;
  // False: a fact that its positions need could not be decided. `unknown` names each such fact, a phrase each, and what
  // the layers say beside it is what was read, not what the model does; a stack that was not read has no layers.
  bool known = true;
  std::vector<std::string> unknown{};
  FedBy fed_by = FedBy::not_said;
  bool operator==(const Stack&) const = default;
};

enum class SourceKind : std::uint8_t { config_json, gguf, params_json, preset };

struct PlanSource {
  SourceKind kind = SourceKind::config_json;
  std::string name;
  bool operator==(const PlanSource&) const = default;
};

// `where`: "/stacks/0/layers/0-31/rotate/0/base". `from`: a JSON pointer into the file (of GGUF a
// key or a tensor, "llama.rope.freq_base"), or "default: why".
struct ValueSource {
  std::string where;
  std::string from;
  bool operator==(const ValueSource&) const = default;
};

struct Plan {
  bool known = false;  // false: some fact that positions need could not be decided; a warning names it, and its stack
  std::string model_type;
  std::string family;
  PlanSource source;
  std::optional<std::int64_t> trained_length;  // tokens
  std::optional<std::int64_t> length;          // the sequence length that length-dependent rules are asked for
  std::vector<Stack> stacks;
  std::vector<ValueSource> sources;
  std::vector<std::string> absent_keys;   // JSON pointers: asked for and not in the file, so that a default holds
  std::vector<std::string> ignored_keys;  // JSON pointers, or GGUF's keys: present in the file, not read
  std::vector<Warning> warnings;
  bool operator==(const Plan&) const = default;
};

// The names that JSON, describe() and the command line share: "half", "cross_attention", "config.json".
POSENC_API std::string_view name(Pairing pairing) noexcept;
POSENC_API std::string_view name(AxisFrequencies axis_frequencies) noexcept;
POSENC_API std::string_view name(RotationDirection direction) noexcept;
POSENC_API std::string_view name(SinusoidConvention convention) noexcept;
POSENC_API std::string_view name(LayerKind kind) noexcept;
POSENC_API std::string_view name(RotateRole role) noexcept;
POSENC_API std::string_view name(MaskKind kind) noexcept;
POSENC_API std::string_view name(SoftCap::Order order) noexcept;
POSENC_API std::string_view name(QkNorm::Kind kind) noexcept;
POSENC_API std::string_view name(QkNorm::Order order) noexcept;
POSENC_API std::string_view name(QkNorm::Over over) noexcept;
POSENC_API std::string_view name(QkNorm::Of of) noexcept;
POSENC_API std::string_view name(FedBy fed_by) noexcept;
POSENC_API std::string_view name(AddedTo to) noexcept;
POSENC_API std::string_view name(AddedHow how) noexcept;
POSENC_API std::string_view name(InputCombine combine) noexcept;
POSENC_API std::string_view name(PlaceOf of) noexcept;
POSENC_API std::string_view name(AxialCombine combine) noexcept;
POSENC_API std::string_view name(AlibiForm form) noexcept;
POSENC_API std::string_view name(Kerple::Form form) noexcept;
POSENC_API std::string_view name(SourceKind kind) noexcept;

// Layers of a stack that are equal in everything but their index.
struct LayerRun {
  std::vector<std::int64_t> layers;  // positions in Stack::layers, ascending
  std::vector<std::int64_t> blocks;  // LayerPlan::index of those
  bool operator==(const LayerRun&) const = default;
};

// In the order of each run's first layer; every layer is in exactly one run.
POSENC_API std::vector<LayerRun> layer_runs(const Stack& stack);
// The blocks of a run, shortly: "0-4, 6-10" or "5, 11, ..., 59 (every 6th)".
POSENC_API std::string selection(const LayerRun& run);

// A rule and its numbers under their JSON names: "yarn, factor 40, original_max_position_embeddings 4096, truncate
// yes". Lists are given by length and range; no rule is "none".
POSENC_API std::string describe(const Scaling& scaling);

// One paragraph a stack, equal runs of layers merged. Plain ASCII, lines of at most 80 columns.
POSENC_API std::string describe(const Plan& plan);

// JSON as docs/plan.schema.json says, with each rotation's inv_freq at plan.length. Throws Error for a plan that JSON
// cannot hold: a rotation that does not pass check(), a layer without attention that has more than index and kind, or
// two sources of one place. plan_from_json(to_json(plan)) == plan when its numbers are finite and its texts UTF-8.
POSENC_API std::string to_json(const Plan& plan);
POSENC_API Result<Plan> plan_from_json(std::string_view json, std::string_view name = "plan.json");

}  // namespace posenc::inline v0_2
