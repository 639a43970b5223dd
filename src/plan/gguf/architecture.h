// What each architecture of GGUF does with positions where the file leaves it to the code, as data: one row each in
// architectures.cpp.
//
// GGUF carries numbers; which channels pair, which layers slide, rest or hold a state, and what becomes of q and k is
// in the code that runs the model. The rows follow llama.cpp, the format's home, in the state named by kGgufRulesFrom.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "posenc/plan.h"

namespace posenc::plan {

// The state of llama.cpp that the rows were read from: its copy in whisper.cpp, examples/talk-llama.
inline constexpr std::string_view kGgufRulesFrom = "llama.cpp of 2026-08-18 (whisper.cpp 4834a2327)";

// llama_model_rope_type. Weights of the Llama line were permuted when they were converted, so that `norm`
// (interleaved pairs) is right where the Hugging Face config of the same model pairs halves.
enum class GgufRotation : std::uint8_t {
  none,           // no rotation
  norm,           // Pairing::interleaved
  neox,           // Pairing::half
  mrope,          // half; chunked sections over time, height, width
  imrope,         // half; interleaved sections
  norm_or_mrope,  // mrope when the file has sections
  neox_or_mrope,
};

enum class GgufWindows : std::uint8_t {
  none,        // attention.sliding_window is not read
  given,       // where attention.sliding_window is above 0
  required,    // the same; the key must be there
  fixed,       // attention.sliding_window, or default_window where it is absent
  unless_zero  // default_window whatever attention.sliding_window says, except 0 (Llama 4)
};

enum class GgufRotary : std::uint8_t {
  every_layer,
  sliding_layers,         // those with a window
  sliding_or_windowless,  // the same, and all of them when no layer has one
  rests_last_of_4,        // all but each fourth
  rests_first_of_4,       // all but 0, 4, 8, ... where there are windows
  rests_last_if_chunked,  // all but each fourth where there are chunks (Llama 4)
  unless_finetuned_false  // Granite: rope.scaling.finetuned false turns the rotation off
};

enum class GgufScale : std::uint8_t {
  head_dim,          // 1 / sqrt(head_dim)
  rotated_channels,  // 1 / sqrt(rope.dimension_count)
  value_dim,         // 1 / sqrt(value_dim)
  inverse_head_dim,  // 1 / head_dim
  one,
  scale_key,     // attention.scale, else 1 / sqrt(head_dim)
  output_key,    // Grok: attention.output_scale
  large_hidden,  // 1 / sqrt(embedding_length / heads) in the 27B model, else head_dim (Gemma 2 and 3)
};

enum class GgufAlibi : std::uint8_t { none, key, always, baichuan_13b };

// Which layers hold a state instead of attending.
enum class GgufStates : std::uint8_t {
  none,
  every_layer,
  no_kv_heads,     // attention.head_count_kv 0
  no_kv_nor_feed,  // the same and feed_forward_length 0; with a feed-forward the layer is nothing but that
  interval,        // attention.recurrent_layers, else all but each n-th: full_attention_interval
};

enum class GgufPresence : std::uint8_t { never, always, by_tensor };

struct GgufQkNorm {
  QkNorm norm;
  GgufPresence presence = GgufPresence::always;
};

enum class GgufTemperature : std::uint8_t { none, llama4, ministral };

struct GgufArchitecture {
  std::string_view name;
  GgufRotation rotation;

  bool encoder = false;          // the stack's name
  bool bidirectional = false;    // whatever attention.causal says
  bool latent = false;           // multi-head latent attention, read expanded: the rotation at the head's end
  bool rotary_at_end = false;    // the same where the file has it expanded already
  bool zero_heads_rest = false;  // a layer without heads, or without those of keys, does not attend (Deci)

  GgufWindows windows = GgufWindows::none;
  int period = 0;                 // each period-th layer is full, where sliding_window_pattern does not say; 0: none is
  bool pattern_required = false;  // attention.sliding_window_pattern must be there
  bool full_first = false;        // the first of each period, not the last
  bool symmetric = false;         // half the window to each side
  bool chunks = false;            // chunks instead of windows
  int default_window = 0;
  int windows_at_layers = 0;      // only a model of so many layers slides (EXAONE 4); 0: any
  bool own_sliding_base = false;  // sliding layers: rope.freq_base_swa, else 10000; the others' base where false
  bool sliding_unscaled = false;  // sliding layers have no rule
  GgufRotary rotary = GgufRotary::every_layer;
  int kv_shared_from = 0;          // layers from here on reuse keys (Gemma 3n)
  bool reads_shared_kv = false;    // attention.shared_kv_layers (Gemma 4)
  bool full_rotates_half = false;  // full layers rotate half of rope.dimension_count (Step 3.5)

  GgufScale scale = GgufScale::head_dim;
  int large_at_layers = 0;  // GgufScale::large_hidden: the 27B model has so many layers
  double soft_cap = 0;      // attn_logit_softcapping when absent; 0: no cap
  GgufPresence sinks = GgufPresence::never;
  std::optional<GgufQkNorm> qk_norm = {};
  GgufTemperature temperature = GgufTemperature::none;

  GgufAlibi alibi = GgufAlibi::none;
  GgufPresence learned = GgufPresence::never;  // position_embd.weight
  GgufStates states = GgufStates::none;
  LayerKind state_kind = LayerKind::state_space;
  Mixing mixing = {};    // of layers that attend
  bool indexer = false;  // a second rotation, in the indexer that picks keys

  bool factors = false;             // its models may carry rope_freqs.weight or LongRoPE's lists
  bool reads_betas = false;         // rope.scaling.yarn_beta_fast and _slow
  double log_multiplier = 0;        // what rope.scaling.yarn_log_multiplier is divided by; 0: it is not read
  std::string_view undecided = {};  // a fact about positions that neither the file nor this row decides
};

// Null when there is none of that name.
const GgufArchitecture* find_gguf_architecture(std::string_view name) noexcept;
std::span<const GgufArchitecture> gguf_architectures() noexcept;
std::string_view name(GgufRotation rotation) noexcept;
// The source of what a row decides: "default: llama in llama.cpp".
std::string gguf_default(const GgufArchitecture& architecture);

}  // namespace posenc::plan
