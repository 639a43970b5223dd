// What the files of this folder read of a text stack and its layers, each in a file of its own; text_stack.cpp, the
// way in, asks them in this order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/facts/layer_pattern.h"
#include "plan/facts/stack_facts.h"
#include "plan/rope/keys.h"
#include "plan/rope/rope.h"
#include "plan/rope/scheme_choice.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// ---- text_stack.cpp: a stack that reads text, decoder or encoder, from one object of the config ----

// After an error (scope.reader().failed()) the result is void.
StackFacts read_text_stack(ConfigScope& scope);

// ---- layer_kinds.cpp ----
// Which layers attend, and what the others are: linear attention, a state space, a convolution, nothing.

// The number of layers: the key, or where a text has one letter a layer (hybrid_override_pattern), its length.
Sourced<std::int64_t> read_layer_count(ConfigScope& scope);

// One kind a layer, by Family::kinds.
Sourced<std::vector<LayerKind>> read_layer_kinds(ConfigScope& scope, std::int64_t layers);

// Whether a layer of this kind has queries and keys, so that positions can bear on it.
constexpr bool attends(LayerKind kind) noexcept {
  return kind == LayerKind::attention || kind == LayerKind::cross_attention;
}

// n, where each n-th block of a stack, from the first on, has a second attention, which looks at another stack's
// output; 0: none has.
Sourced<std::int64_t> read_cross_interval(ConfigScope& scope);

// ---- layer_pattern.cpp: which layers rotate and which see only a part of the sequence ----

// Layers are counted from 0. An empty list is the same as none.
LayerPattern read_layer_pattern(ConfigScope& scope, std::int64_t layers);

// ---- attention_lists.cpp ----
// Lists that say what each layer sees, in the words of three families: GPT-Neo's attention_types, Reformer's
// attn_layers, Longformer's attention_window.

// One type a layer: global is full, local slides.
Sourced<std::vector<LayerType>> read_attention_types(ConfigScope& scope, std::int64_t layers);

// local: nearby chunks; lsh: chunks of what falls into one bucket.
Sourced<std::vector<LayerType>> read_chunk_types(ConfigScope& scope, std::int64_t layers);

// Reformer counts its layers by attn_layers.
Sourced<std::int64_t> count_chunk_types(ConfigScope& scope);

// One even width a layer, of both sides together; a number holds for all.
Sourced<std::vector<std::int64_t>> read_window_list(ConfigScope& scope, std::int64_t layers);

// ---- compression.cpp: layers that see, beside their window, keys made of several tokens each (DeepSeek V4) ----

// Of layer_types, else of compress_ratios, else as the class has it. Sparse layers have an indexer that chooses among
// few tokens each (4), heavy ones see all of their coarser keys (128).
void read_compression(ConfigScope& scope, LayerPattern& pattern);

// ---- attention_shape.cpp, layer_sizes.cpp: heads and channels ----

// Multi-head latent attention is read in its expanded form: heads = kv_heads = num_attention_heads and
// head_dim = qk_nope_head_dim + qk_rope_head_dim (DeepSeek-V2, arXiv 2405.04434, section 2.1).
AttentionShape read_attention_shape(ConfigScope& scope);

// Where they differ from layer to layer: the shapes of a stack's attention layers, by Family::sizes;
// LayerTraits::shape says which of them a layer has.
std::vector<AttentionShape> read_layer_sizes(ConfigScope& scope, LayerPattern& pattern);

// ---- indexer.cpp ----
// A small attention of its own in a layer, which picks the keys that the layer attends to. Its queries and its one key
// head rotate too (DeepSeek-V3.2, arXiv 2512.02556).

struct Indexer {
  Sourced<std::int64_t> heads;
  Sourced<std::int64_t> head_dim;
  Sourced<Pairing> pairing;
  std::optional<Place> head_dim_place;
};

// Marks the layers whose keys are chosen (LayerTraits::choice). Nothing where the family has no indexer.
std::optional<Indexer> read_indexer(ConfigScope& scope, LayerPattern& pattern);

// The layer's main rotation laid over the indexer's heads: same width, base, rule and axes. `sources`: those of the
// main rotation, without their place.
struct IndexerRotation {
  std::optional<Rotate> rotate;
  std::vector<FieldSource> sources;
};
IndexerRotation indexer_rotation(ConfigScope& scope, const Indexer& indexer, const Rope& main,
                                 const std::vector<FieldSource>& sources);

// ---- input_stage.cpp ----
// What a stack adds to its embeddings: a learned table, sines, a table for each axis, a convolution of themselves.
//
//   x_i -> m * x_i + p_i,   m = 1, or sqrt(hidden size) where scale_embedding is true

struct InputStage {
  std::vector<InputScheme> schemes;
  std::vector<FieldSource> sources;  // "input/0/positions"
  Sourced<std::int64_t> length;      // tokens: the trained length, less the rows that the offset keeps from tokens
};

InputStage read_input_stage(ConfigScope& scope, Sourced<std::int64_t> trained_length);

// ---- layer_masks.cpp: what the tokens of a layer may see: the mask of full layers and of sliding ones ----

// The window of layers that say their own width.
struct OwnWindow {
  std::int64_t width = 0;
  std::int64_t ahead = -1;
  std::optional<Window> window;
};

struct LayerMasks {
  Sourced<MaskKind> kind{MaskKind::causal, {}};
  std::string detail;            // of sparse and prefix masks
  Sees sees = Sees::as_masked;   // what it comes to
  bool rotated_causal = false;   // by a key: the stack is a decoder then
  Setting<std::int64_t> block;   // MaskRule::block
  std::string blocks_from;       // what says which layers see more of them
  std::optional<Window> window;  // of sliding layers
  std::string window_from;
  std::vector<OwnWindow> own_windows;
  Sourced<Mask> nearby;  // of Reformer's layers
  Sourced<Mask> hashed;
  Sourced<MaskWords> sliding_detail;  // what sliding layers see besides
};

// Of a sliding layer, by LayerTraits::width and ahead.
std::optional<Window> window_of(const LayerMasks& masks, const LayerTraits& layer);

// "own chunk of 24 and the one before"; `kind` stands before it.
std::string chunks_seen(std::string_view kind, std::int64_t length, std::int64_t before, std::int64_t after);

// Which layers see a block more on either side: MaskRule::block_lists. Answers what says so.
std::string read_block_lists(ConfigScope& scope, LayerPattern& pattern);

// A window that covers the trained length is none, with a warning.
LayerMasks read_layer_masks(ConfigScope& scope, const LayerPattern& pattern,
                            const Sourced<std::int64_t>& trained_length);

// ---- sparse_masks.cpp ----
// What a layer sees that no window can say: keys that an indexer picks, keys made of several tokens, a prompt that
// stays visible, images whose tokens see each other.

// How many keys are chosen, and in what units.
struct Selection {
  Sourced<std::int64_t> kept;
  std::int64_t block = 1;       // keys of a block; 1: single keys
  std::int64_t own_blocks = 0;  // that are kept in any case
  bool pooled = false;          // the indexer sees one key for each whole block; keys behind the last are kept
};
Selection read_selection(ConfigScope& scope);

// Turns a layer's mask into what this layer sees, and says where that came from.
void refine_mask(ConfigScope& scope, const LayerPattern& pattern, const Selection& selection, const LayerTraits& layer,
                 LayerFacts& facts);

// Blocks of keys by a fixed pattern, Phi-3-small's and DeepSpeed's "fixed" one (ruGPT-3 XL), by Family::block_sparse:
// LayerTraits::block_sparse of those layers, and what they see.
void read_block_sparse(ConfigScope& scope, LayerPattern& pattern);

// Keys of an attention that sees chosen keys only; some files have them in an object of their own
// (sparse_attention_config), which comes before what stands beside it.
std::optional<Place> find_sparse(ConfigScope& scope, const Key& key);
Sourced<std::int64_t> required_sparse(ConfigScope& scope, const Key& key, Bounds bounds);

// ---- score_terms.cpp ----
// What a stack adds to its scores: ALiBi (arXiv 2108.12409), T5's buckets (1910.10683), XLNet's terms (1906.08237),
// DeBERTa's (2006.03654, 2111.09543), Transformer-XL's (1901.02860), Shaw's keys (1803.02155). The formulas stand in
// posenc/schemes.h.

struct ScoreTerms {
  std::vector<ScoreTerm> terms;
  std::vector<FieldSource> sources;  // "score/0/buckets"
  // Of layers with a window, where they have others.
  std::vector<ScoreTerm> sliding{};
  std::vector<FieldSource> sliding_sources{};
  // Terms of DeBERTa's sum, the content's included: scores are divided by sqrt(d * parts).
  Sourced<std::int64_t> parts{1, {}};
};

// Of one kind: the stack's own, or the one that its keys chose.
ScoreTerms read_score_terms(ConfigScope& scope, ScoreKind kind, const Sourced<std::int64_t>& heads,
                            const Sourced<std::int64_t>& trained_length);

// ---- layer_scores.cpp: the scale of the scores, their cap, and the norm of q and k ----

struct LayerScores {
  // [shapes], without YaRN's part of it (softmax_multiplier), which belongs to a rotation
  std::vector<Sourced<double>> scales;
  Setting<double> soft_cap;
  std::optional<QkNorm> qk_norm;
  std::string qk_norm_from;
};

// `shapes`: those of the stack (layer_sizes). `parts`: score terms that share the scale (ScoreTerms::parts).
LayerScores read_layer_scores(ConfigScope& scope, const std::vector<AttentionShape>& shapes,
                              const Sourced<std::int64_t>& parts);

// Whether each layer divides it by its index + 1 besides (GPT-2's scale_attn_by_inverse_layer_idx).
Sourced<bool> read_division_by_layer(ConfigScope& scope);

// ---- text_layer.cpp: the facts of one kind of layer, from what the config says of the stack ----

struct TextFacts {
  std::vector<AttentionShape> shapes;
  LayerPattern pattern;
  LayerScores scores;
  LayerMasks masks;
  ScoreTerms terms;
  std::optional<Indexer> indexer;
  Selection selection;
  Sourced<std::int64_t> trained_length;
  SchemeChoice scheme;
  Sourced<QueryScale> query_scale;
  ReadRegions regions;
};

// Layers of the same traits have the same facts. After an error (scope.reader().failed()) the result is void.
LayerFacts read_text_layer(ConfigScope& scope, RopeDicts& dicts, const TextFacts& stack, const LayerTraits& traits);

// The second attention of a block, which sees all of another stack's output: the first one's heads (but
// StackRule::cross_sizes) and scale, no rotation, no score term. `from`: what says that there is one.
LayerFacts cross_attention_beside(ConfigScope& scope, LayerFacts& self, const std::string& from);

}  // namespace posenc::plan
