// A small model: its plan, its weights, and the wiring, which is what neither of them says.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/rounding.h"
#include "posenc/info.h"
#include "posenc/plan.h"
#include "support/random_tensor.h"

namespace posenc::test {

using Numbers = std::vector<double>;

// By the names of weights.h. Matrices are [outputs, inputs].
using Weights = std::map<std::string, Tensor, std::less<>>;

enum class Activation : std::uint8_t {
  silu,
  gelu,        // x Phi(x)
  gelu_tanh,   // Hendrycks and Gimpel's approximation (arXiv 1606.08415)
  gelu_bloom,  // the same, with eight digits of sqrt(2 / pi)
  relu,
  clamped,  // gpt-oss, gated: (u + 1) g sigmoid(1.702 g), g up to 7, u within 7
};

// Rows of one matrix for q, k and v.
enum class Packing : std::uint8_t {
  blocks,  // those of all queries, all keys, all values
  groups,  // for each head of keys: its queries, its key, its value
};

// Rows of one matrix for the gate and what it is multiplied with.
enum class GatePacking : std::uint8_t { gate_first, gate_last, alternating };

// How much of each chosen expert's answer is taken.
enum class Routing : std::uint8_t {
  softmax,       // its share among all experts
  renormalised,  // its share among the chosen
  sigmoid,       // Llama 4: sigmoid of its score, of what it is given
};

// What is published of the hidden states.
enum class Readout : std::uint8_t {
  logits,   // of the next token
  hidden,   // themselves
  classes,  // of the text or the image, by the first token
};

struct Wiring {
  Readout readout = Readout::logits;
  bool centred = false;   // LayerNorm, where a norm is not the plan's; else RMSNorm
  bool parallel = false;  // attention and feed-forward read the same x
  bool one_norm = false;  // that of attention serves both
  double epsilon = 1e-5;
  double latent_epsilon = 1e-6;  // of the norm inside latent attention: not in any config
  bool plus_one = false;         // stored weights of RMSNorms lack 1 (Gemma)
  std::optional<Activation> activation{};
  Packing qkv = Packing::blocks;
  GatePacking gate_up = GatePacking::gate_first;
  bool gated_output = false;  // q has a gate beside each head, whose sigmoid the output is multiplied by (Qwen3-Next)
  bool norms_values = false;  // values pass an RMSNorm without weights (Gemma 4)
  double embedding_scale = 1.0;
  double residual_scale = 1.0;  // of what each part adds
  double deep_scale = 0.0;      // above 0: a part adds to so many times what it read (DeepNorm, arXiv 2203.00555)
  std::optional<Activation> pooler{};  // of what classes are read from; absent: tanh (BERT)
  double logit_scale = 1.0;
  double logit_cap = std::numeric_limits<double>::infinity();
  std::int64_t chosen_experts = 0;
  Routing routing = Routing::renormalised;
  double routed_scale = 1.0;
  std::int64_t prefix = 0;  // tokens at the front that see one another, for masks of that kind
};

struct Model {
  Plan plan;
  Weights weights;
  Wiring wiring;
};

// What rotates q and k: posenc::rotate on floats by that instruction set, or the reference on doubles.
using Way = std::optional<Isa>;
inline constexpr Way kReference{};

// What is added to the numbers of the tokens in the rotation and in score terms.
struct Shift {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
};

// How a model is run.
struct Setting {
  Way way{};
  Shift shift{};
  std::optional<Roundings> roundings{};
};

}  // namespace posenc::test
