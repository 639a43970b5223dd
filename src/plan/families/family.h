// What a family of models does with positions, as data: one row per family, in the file of its maker or lineage
// (llama.cpp, gemma.cpp, bert.cpp).
//
// A row says which rule holds where the config leaves a choice to the class; the rules themselves are in
// src/plan/layers (attention_shape, layer_kinds, layer_pattern, layer_masks, layer_scores) and src/plan/rope (draft). A
// new family is a row, unless it needs a new rule.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plan/facts/sourced.h"
#include "plan/families/stack_rule.h"
#include "plan/keys/config_keys.h"
#include "posenc/plan.h"
#include "posenc/rope.h"

namespace posenc::plan {

// How many of a head's channels rotate.
enum class Width : std::uint8_t {
  whole_head,
  partial_factor,   // trunc(head_dim * partial_rotary_factor)
  rotary_dim,       // so many; null: all
  factor_or_dim,    // partial_rotary_factor, else rotary_dim, else all (MiniMax M2)
  half_head,        // ChatGLM
  half_projection,  // half of projection_dim over heads, but 32 at least (CLVP)
};

// Which key says how many key/value heads there are.
enum class KvHeads : std::uint8_t {
  given,                  // num_key_value_heads; absent: as many as heads
  given_where_grouped,    // only where multi_query_attention is true (ChatGLM)
  one_where_multi_query,  // 1 where multi_query is true (GPT-BigCode)
  given_or_one,           // n_kv_heads; absent: 1 where multi_query_attention is true (OLMo's first files)
  by_attention_kind,      // attn_type: as many as heads, one, or kv_n_heads (MPT)
  one,                    // whatever the file says (DeepSeek V4)
  falcon,                 // num_kv_heads with new_decoder_architecture or without multi_query, else 1
};

enum class BaseRule : std::uint8_t {
  key,        // rope_theta, in the dictionaries or beside them
  ratio,      // 10000 * rope_ratio (ChatGLM)
  class_own,  // no key: the class fixes it (GPT-J)
  narrower,   // the key, where exponents are those of a head of rope_head_dim channels (K2 Horizon)
};

// Which layers attend.
enum class Kinds : std::uint8_t {
  attention,     // all
  named,         // layer_types; without them all attend
  listed,        // layer_types, or letters (hybrid_override_pattern), or each n-th (full_attention_interval, or
                 // `default_pattern`); else none
  indexed,       // layer_types, or full_attn_idxs, counted from 0; without either all attend (LFM 2)
  indexed_only,  // attn_layer_indices, counted from 0; without it none attends (Bamba)
  periodic,      // layers_block_type, or each attn_layer_period-th from attn_layer_offset on (Jamba)
  repeating,     // block_types, over and over (RecurrentGemma)
  numbered,      // linear_attn_config: full_attn_layers and kda_layers, counted from 1
  blocks,        // block_configs: no_op leaves a block without attention
  inner,         // all, or all but the first and the last where use_repmixer_blocks is true (SAM 3's light text)
  middle,        // the middle one of each mamba_step; all where mamba_enabled is false (PLaMo 2)
  shared_half,   // but each mb_per_layer-th, from the first on; of the last half but two these do not attend either,
                 // and the others take the keys and values of the one before them all (Phi-4-mini-flash)
  flagged,       // attn_type_list: 1 attends, 0 is what the family says (MiniMax-01)
  crossing,      // all; cross_attention_layers look at another sequence
};

// Which layers see a window, or chunks.
enum class Windows : std::uint8_t {
  none,
  every_layer,      // where sliding_window is a number
  patterned,        // layer_types, or every layer but each n-th: sliding_window_pattern
  late_layers,      // layer_types, or layers from max_window_layers on
  early_even,       // layer_types, or even layers below max_window_layers
  listed,           // sliding_window is a number, or a list of numbers and null that repeats (Mistral)
  nope_layers,      // layer_types, or those that do not rotate (SmolLM3)
  chunked_rotary,   // layer_types, or chunks in the layers that rotate (Llama 4)
  but_each_nth,     // layer_types, or all but each n-th from the first on: global_attn_every_n_layers (ModernBERT)
  listed_or_every,  // layer_types, or every layer (Ministral)
  but_last_of_n,    // layer_types, or all but the last of each n: global_attn_every_n_layers (AFMoE)
  attention_types,  // attention_types: groups of "global" and "local" (GPT-Neo)
  window_list,      // every layer its own: attention_window (Longformer)
  flagged,          // sliding_window_layout: 1 has the window, 0 sees all (SmallThinker)
  chunk_types,      // attn_layers: "local" or "lsh" (Reformer)
  but_numbered,     // all but full_attention_idx, counted from 0 (PLaMo 2)
  numbered,         // sliding_window_layers, counted from 0 (Baichuan-M1)
  first_half,       // the first half of the layers; or sliding_window as a list, as Mistral's (Phi-4-mini-flash)
  left_sides,       // window_sizes: [left, right] a layer, so many tokens before its own; below 1: all (Domyn)
  pairs,            // every layer its own: sliding_windows, tokens up to its own and those from it on (Moonshine)
};

// Which layers rotate.
enum class RotaryLayers : std::uint8_t {
  every_layer,
  no_layer,
  listed,                 // no_rope_layers (1: rotates), or all but each n-th: no_rope_layer_interval
  sliding_layers,         // those with a window (Cohere 2)
  sliding_or_dense,       // the same, and where mlp_layer_types says dense by prefix_dense_sliding_window_pattern: 1
  sliding_or_windowless,  // the same, and all of them when the model has no window (EXAONE 4)
};

// Which layers have heads or channels of their own.
enum class Sizes : std::uint8_t {
  uniform,
  sliding_double_kv,  // sliding ones: twice the heads of keys and values (MiMo V2)
  full_own,           // full ones: global_head_dim, num_global_key_value_heads (Gemma 4)
  sliding_own,        // sliding ones: num_sliding_attention_heads, attention_other_setting (Step 3.5)
  sliding_whole,  // sliding ones: num_swa_attention_heads over the same width, num_swa_key_value_heads (Baichuan-M1)
  blocks,         // block_configs: n_heads_in_group
  listed,         // num_query_heads and num_kv_heads as lists (OpenELM)
};

// Which layers see blocks of keys by a fixed pattern.
enum class BlockSparse : std::uint8_t {
  none,
  dense_interval,  // all but each n-th: dense_attention_every_n_layers (Phi-3-small)
  alternating,     // even ones, where sparse_mode says so (ruGPT-3 XL)
};

// M-RoPE: how pairs are dealt out to coordinates.
enum class AxisLayout : std::uint8_t {
  chunked,       // the sections in turn
  interleaved,   // interleaved_axes
  hw_before_t,   // sections of h, w and t: h and w take turns, then all of t (ERNIE 4.5 VL)
  hw_then_t,     // sections of t, h and w: dealt out the same (Ling 3)
  least_served,  // sections of t, h and w, each pair for that which has had least of its share (openPangu VL)
  halved,        // no sections: half of the pairs for t, a quarter each for h and w (Isaac)
  images_apart,  // sections of (order,) w, h and which image it is, in turn (HunYuan VL)
  rows_columns,  // no sections: pairs take turns between a row and a column (NeoMME)
};
struct AxesRule {
  AxisLayout layout;
  std::array<std::int64_t, 3> sections;  // the class's mrope_section: pairs of t, h and w, in the layout's order
};

enum class IndexedLayers : std::uint8_t {
  every,
  shared,      // every layer; some reuse an earlier choice (indexer_types, index_topk_pattern, index_topk_freq)
  typed,       // those that layer_types calls indexed_attention
  marked,      // sparse_attention_freq, in blocks of keys
  compressed,  // those that compress few tokens (compression.cpp)
};
struct IndexerRule {
  IndexedLayers layers;
  Pairing pairing;             // of its rotation
  bool last_channels = false;  // of its heads rotate; else the first
};

enum class Scale : std::uint8_t {
  head_dim,           // 1/sqrt(head_dim)
  query_scalar,       // 1/sqrt(query_pre_attn_scalar)
  multiplier,         // attention_multiplier
  multiplier_or_dim,  // the same, or 1/sqrt(head_dim) where there is none
  half_head_dim,      // 1/sqrt(head_dim / 2) (Zamba)
  scalar_or_dim,      // 1/sqrt(query_pre_attn_scalar), or of head_dim where there is none
  one,
  switched,         // 1 where scale_attn_weights is false; over index + 1 by scale_attn_by_inverse_layer_idx (GPT-2)
  shared_by_parts,  // 1/sqrt(head_dim * terms of the sum) (DeBERTa)
};

enum class QueryScaling : std::uint8_t {
  none,
  nope_layers,  // the layers that do not rotate, by attn_temperature_tuning (Llama 4)
  beta,         // llama_4_scaling_beta in the rope dictionary (Ministral 3)
  beta_object,  // llama_4_scaling (Mistral's params.json)
  logn,         // where use_logn_attn is true (Qwen 1)
  beam,         // the layers that do not rotate, in any case (Beam)
  full_layers,  // those without a window, by log_scaling_n_floor (Inkling)
};

struct QkNormRule {
  QkNorm norm;
  std::string_view switch_key{};  // the key that rotates it on; empty: always on
  bool rotary_layers_only = false;
  bool cross_layers_only = false;
  bool hashed_layers_only = false;  // Reformer
  std::string_view before_key{};    // true: before the rotation, else after it; empty: as `norm` says
};

// A class default that is known to differ from what published checkpoints carry.
struct DifferingDefault {
  std::string_view key;
  std::string_view published;
};

// What a function beside a row is called with, and what it answers; each is defined where it is used.
class ConfigScope;
class RopeKeys;
struct AttentionShape;
struct SchemeChoice;
struct SchemeFacts {
  std::int64_t heads;
  std::int64_t trained_length;  // 0: the file does not say
};

struct Family {
  std::string_view name;
  Names model_types = Names(name);
  Names class_stems = {};           // "Llama" of LlamaForCausalLM
  Pairing pairing = Pairing::half;  // where anything rotates
  RotationDirection rotation_direction = RotationDirection::counterclockwise;
  Names own_names = {};  // synonyms that the family's class reads before Hugging Face's name
  Names names_beside_class =
      {};  // that its class in transformers does not read, and other code that runs its files does

  std::string_view nested = {};  // an object whose keys come before those beside it: "attn_config" (DBRX)
  StackRule main = {};
  const StackRule* encoder = nullptr;                  // beside a main stack that is a decoder
  Names encoder_classes = {};                          // of architectures that have the encoder only: "T5EncoderModel"
  std::span<const StackRule* const> more_stacks = {};  // after these two
  std::span<const ClassStacks> class_stacks = {};      // of architectures that have others than these
  KvHeads kv_heads = KvHeads::given;
  bool latent = false;             // multi-head latent attention (DeepSeek), read in its expanded form
  bool reads_interleave = false;   // rope_interleave or rotary_emb_interleaved decides the pairing
  bool pairing_by_switch = false;  // halves where use_hf_rope is true (ExecuTorch)
  bool pairing_by_type = false;  // interleaved where position_embedding_type is mistral_yarn or rope_llama4 (Nemotron)
  bool double_width = false;     // heads divide twice hidden_size (Zamba)
  Width width = Width::whole_head;
  bool parts_in_own_code = false;  // of partial_factor: the class rotates whole heads, code beside a file parts (Nomic)
  bool part_of_whole_head = false;  // its class's partial_rotary_factor is of channels that rest, too (Mistral 4)
  bool first_head_rotates = false;  // and no other (Qwen2.5-Omni's DiT)
  BaseRule base = BaseRule::key;
  bool scales = true;              // reads rope_parameters and rope_scaling
  bool alpha_stretches = false;    // "dynamic" with alpha is the plain NTK rule of that alpha (Hunyuan)
  bool ropes_per_type = false;     // each layer type has its own base and rule; a flat rope_scaling is for full layers
  bool flat_base_is_full = false;  // then: so is a base beside it; others have the class's (OLMo 3)
  bool flat_rope_for_all_types = false;  // then: it is for all of them (ModernBERT)
  bool decays = false;                   // xPos where rotary_emb_scale_base is a number
  bool yarn_means_longrope = false;      // Phi-3's first files
  bool mscales = false;                  // its class in transformers reads short_mscale and long_mscale (PhiMoE)
  bool longrope_alone = false;   // of rules, transformers' class takes "longrope" and refuses all others (Phi-3)
  bool rope_lists = false;       // rope_theta and partial_rotary_factors may have an entry a layer
  bool layer_bases = false;      // layer_rope_theta: a base a layer; 0: it does not rotate
  std::int64_t rests_every = 0;  // then, without that list: so many layers have one that does not rotate, the last too
  bool last_channels = false;    // the last qk_rope_head_dim channels of a plain head rotate
  std::optional<double> yarn_attention_factor = {};  // where the file gives none; else by YaRN's own formula
  std::optional<AxesRule> axes = {};                 // none: pairs rotate by one coordinate
  std::optional<IndexerRule> indexer = {};
  bool compressed_keys =
      false;                    // some layers have keys made of several tokens; they have a base of their own, the rule
  bool dual_chunk = false;      // dual_chunk_attention_config counts
  bool rotates_values = false;  // values rotate like keys, and the output is rotated back
  bool leaves_values_rotated = false;  // then: it is not
  bool channel_scale = false;          // a learned factor for each channel of q

  Names mixed_input = {};  // model types whose first layer is given what is made of several tokens (FedBy)
  Kinds kinds = Kinds::attention;
  bool rotates_crossing = false;  // Kinds::crossing: queries and what they look at rotate too (Moss VL)
  bool cycles = false;  // the file counts the blocks of one module, which is run so often, but where it counts both
  bool loops = false;   // the blocks run total_ut_steps or num_loops times, each time with a cache of its own
  bool two_attentions = false;  // a block has two, each counted as a layer, as its cache counts them (LongCat)
  LayerKind recurrent = LayerKind::linear_attention;  // what layer_types means by "linear_attention"

  Sizes sizes = Sizes::uniform;
  bool fills_layer_config = false;  // then: the class makes per_layer_config of their keys where a file lacks it
  bool shares_kv = false;           // num_kv_shared_layers, or use_cla

  RotaryLayers rotary_layers = RotaryLayers::every_layer;
  BlockSparse block_sparse = BlockSparse::none;
  Windows windows = Windows::none;
  bool window_switch = false;           // use_sliding_window must be true
  std::string_view window_object = {};  // the object in an object that holds its width, "a/b"
  bool window_beside_own = false;       // so many tokens before a token's own
  bool chunk_before_own = false;        // chunks see the one before them too (Rnj-1)
  int default_pattern = 0;              // each n-th layer is full (or attends: Kinds::listed), where no key says so
  bool needs_types = false;       // a file without layer_types is refused: the class has a list that no rule here makes
  bool first_of_pattern = false;  // default_pattern: the first of each n, not the last
  bool last_layer_full = false;   // whatever the pattern says
  bool last_full_by_pattern = false;  // then: but not whatever a list in the file says
  bool reads_bidirectional = false;
  bool bidirectional_words = false;  // ... which is "all" or "vision", or null
  bool keeps_prompt = false;         // windows are for generated tokens; the prompt stays visible

  Scale scale = Scale::head_dim;
  bool soft_cap = false;
  bool sinks = false;
  bool sinks_in_windows = false;  // then: in layers with a window only
  QueryScaling query_scaling = QueryScaling::none;
  std::optional<QkNormRule> qk_norm = {};

  // Rules that only this class has: functions beside its row. Null: there is none.
  // Whether it rotates, has ALiBi or a table, where its files differ; else it rotates.
  SchemeChoice (*scheme)(ConfigScope& scope, const SchemeFacts& facts) = nullptr;
  // The scaling where no dictionary names a rule, for a rotation of `dim` channels; without `scales`, in any case.
  Scaling (*own_scaling)(RopeKeys& keys, std::int64_t dim) = nullptr;
  // What the class makes of its heads and channels.
  AttentionShape (*own_shape)(ConfigScope& scope, AttentionShape shape) = nullptr;
  // The softmax scale; nothing: by `scale`.
  std::optional<Sourced<double>> (*softmax_scale)(ConfigScope& scope, const AttentionShape& shape) = nullptr;

  Names misleading_keys = {};  // known keys that the family's class does not read
  std::optional<DifferingDefault> differing_default = {};
  Names undecided_keys = {};        // where one of them says something, the plan is not known
  std::string_view undecided = {};  // what no source says about any file of the family; the plan is not known then
  bool needs_length = true;         // false: a file need not say the trained length
};

// The family of a model_type, or of a class name where a file has no model_type; null when there is none.
const Family* find_family(std::string_view model_type) noexcept;
const Family* find_family(std::span<const Family> rows, std::string_view model_type) noexcept;
const Family* find_family_of_class(std::string_view architecture) noexcept;
// Whether `architecture` is a class of these stems, of this family: a stem and a known ending.
bool is_class(Names stems, std::string_view architecture) noexcept;
bool has_class(const Family& family, std::string_view architecture) noexcept;

// The source of what a row decides: "default: the llama family".
std::string family_default(const Family& family);

}  // namespace posenc::plan
