// One stack that a family's class builds from an object of the config, as data: what is added to its embeddings and to
// its scores, what its tokens see, and the names of its own keys where two stacks share the object.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plan/facts/mask_words.h"
#include "plan/facts/sourced.h"
#include "plan/keys/config_keys.h"
#include "posenc/plan.h"

namespace posenc::plan {

class ConfigScope;

// ---- what is added to embeddings ----

enum class InputKind : std::uint8_t {
  none,
  learned,
  sinusoidal,
  axial,
  boxes,
  convolution,
  rows,     // a learned table of `table_rows`, which is no length of the text's
  grid,     // a learned table of `table_rows` and one of `table_columns`, added up
  patches,  // a learned row for each patch of the trained image (`table_rows`; image_size), and one for a class token
};

// What the length key counts.
enum class Rows : std::uint8_t {
  counted,    // rows: there are fewer tokens than rows, by the offset (RoBERTa)
  beside,     // tokens: there are more rows than tokens, by the offset (OPT, BART)
  unlimited,  // tokens of training: the table is made as long as is asked for (M2M-100)
};

struct InputRule {
  InputKind kind = InputKind::none;
  SinusoidConvention convention = SinusoidConvention::paper;
  std::int64_t offset = 0;
  bool offset_after_padding = false;  // pad_token_id + 1 instead
  const Key* offset_key = nullptr;    // what it says instead; prediction_length where it is null
  Rows rows = Rows::counted;
  bool token_types = false;             // type_vocab_size
  bool scaled = false;                  // scale_embedding: the embedding is multiplied by sqrt(hidden size)
  bool always_scaled = false;           // the same without a key
  const Key* present_if = nullptr;      // a flag; false: nothing is added
  const Key* absent_if = nullptr;       // a flag; true: nothing is added
  const Key* learned_unless = nullptr;  // a flag; false: a learned table stands for `kind`
  std::string_view axis = {};           // the coordinate that sines count; empty: order in the sequence
  bool learned_scale = false;           // of sines
  const Key* kernel = nullptr;          // of a convolution
  const Key* layers = nullptr;          // convolutions one after the other; null: one
  const Key* stride = nullptr;          // null: 1
  const Key* table_rows = nullptr;
  const Key* table_columns = nullptr;
  std::string_view tokens = {};  // which have a row; empty: all of the stack's
};

// ---- what is added to scores ----

enum class ScoreKind : std::uint8_t {
  none,
  alibi,
  t5,
  t5_page,  // buckets of distances in the text, and across and down the page (LayoutLMv3)
  xlnet,
  deberta,
  transformer_xl,   // sines over the distances, with both biases (conformers)
  shaw,             // left_max_position_embeddings, right_max_position_embeddings
  shaw_blocks,      // both ways to max_pos_emb (Granite Speech)
  clipped,          // a number a distance, bias_max_distance (Phi-4)
  distance_logits,  // rel_extent, d_rel; in layers with a window as many distances as it has (Inkling)
  shaw_rows,        // 2 r rows, r = encoder_max_relative_position: distances i - j of -r to r - 1 (SpeechT5)
};

struct ScoreRule {
  ScoreKind kind = ScoreKind::none;
  bool table_per_layer = false;     // T5: each layer has its own (UMT5)
  std::int64_t fixed_distance = 0;  // T5: the class has this number in place of relative_attention_max_distance
  bool buckets = false;             // DeBERTa: v2 and v3
  bool gated = false;               // T5 (WavLM)
  AlibiForm form = AlibiForm::relative;
};

// Which schemes a stack's class knows under position_embeddings_type; another word, and null, is none of them.
struct RelativeTypes {
  bool rotary = false;        // hidden states rotate, before queries and keys are made of them
  bool relative = false;      // ScoreKind::transformer_xl
  bool relative_key = false;  // ScoreKind::shaw
  bool operator==(const RelativeTypes&) const = default;
};

// ---- what tokens see ----

// Where the key is this word, the mask is sparse, in the manner of `detail`.
struct SparseWord {
  const Key* key = nullptr;
  std::string_view word{};
  MaskWords detail{};
};

struct MaskRule {
  MaskKind kind = MaskKind::causal;
  MaskWords detail{};
  const Key* causal_if = nullptr;          // a flag, or XLNet's "uni"
  const Key* both_ways_without = nullptr;  // a flag: false lets the tokens of a causal stack see both ways
  const Key* evenly_if = nullptr;          // a flag, where causal: each token sees as many keys as the others (XLNet)
  const Key* prefix_if = nullptr;          // a flag
  SparseWord sparse_if = {};               // where not causal
  bool window_of_past = false;             // the window of a sparse mask: the token itself and those before it
  bool window_spans_both = false;          // the window counts both sides together
  bool window_leans_ahead = false;         // then: its own token is of the past's half (T5Gemma 2)
  const Key* chunk = nullptr;              // positions of a chunk, of which one's own and so many before it are seen;
  const Key* chunks_before = nullptr;      // below 0: all before it
  // Positions of a block, which sees itself and nothing else.
  Sourced<std::int64_t> (*block)(ConfigScope& scope) = nullptr;
  bool block_lists = false;  // kLookBackward and kLookAhead list layers that see one block more on that side
  const Key* by_call_without = nullptr;  // where there is no such key, the class leaves its mask to the call
  const Key* lookahead = nullptr;        // chunks of so many positions and one; sliding_window counts those before them
};

// ---- the stack ----

enum class CrossAttention : std::uint8_t {
  none,
  every_block,
  by_flag,      // add_cross_attention
  first_block,  // or every one where cross_attn_all_layers is true (BLT)
  last_block,   // the same
  each_nth,     // each n-th block from the first on: cross_attention_frequency
  aligned,      // the last of each num_hidden_layers / aligner_num_add_layers blocks (Evolla)
};

// The names under which this stack's class reads a key, in place of Key::names; none: it does not read it.
struct OwnKey {
  const Key* key = nullptr;
  Names names{};
  Names otherwise{};  // where none of `names` is there, neither in the file nor in the class
};

struct StackRule {
  std::string_view name = "decoder";
  MaskRule mask = {};
  InputRule input = {};
  std::span<const InputRule> more_input = {};  // added after that
  ScoreRule score = {};
  RelativeTypes types = {};  // those of position_embeddings_type, in place of `score`
  CrossAttention cross = CrossAttention::none;
  std::string_view cross_detail = {};  // where not all of the other sequence is seen
  bool cross_by_heads = false;         // cross attention has no KV groups, and is scaled by 1 / sqrt(heads)
  bool cross_sizes = false;  // cross attention has heads and channels of its own: cross_num_attention_heads, ...
  std::span<const OwnKey> own_keys = {};
  Mixing mixing = {};               // of layers that attend
  bool begins_apart = false;        // LayerPlan's, of those that hold a state
  bool sees_no_window = false;      // though the family has windows: they are the encoder's
  std::int64_t fixed_layers = 0;    // the class has so many, whatever keys say
  const Key* present_if = nullptr;  // a flag; false: there is no such stack
  std::string_view undecided = {};  // what no source says of the stack; the plan is not known then
};

// The stacks of some of a family's classes, the main one first.
struct ClassStacks {
  Names classes;
  std::span<const StackRule* const> stacks;
};

}  // namespace posenc::plan
