// The forward pass of small decoders in plain loops over double, for tests that hold posenc against published logits.
//
// posenc gives two things: the plan (heads, the scale of scores, whether q and k are normalised, what turns), and the
// rotation. All else stands here once: norms, projections, softmax, feed-forward, and four ways to wire a block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "posenc/info.h"
#include "posenc/plan.h"
#include "posenc/rotate.h"

namespace posenc::test {

using Numbers = std::vector<double>;

struct Weight {
  Numbers values;         // [rows, columns], row-major; of a vector [rows]
  std::int64_t rows = 0;  // outputs
};
// Hugging Face's names without "model." and ".weight": "layers.0.self_attn.q_proj". Every model has an "lm_head", and
// gate and up projection apart.
using Weights = std::map<std::string, Weight, std::less<>>;

// How a block puts its parts together; N is a norm, A attention, F feed-forward.
enum class Wiring : std::uint8_t {
  sequential,  // x += A(N x); x += F(N x)                             Llama, Qwen2, ChatGLM 2 to 4
  parallel,    // x += A(N x) + F(N x), one norm for both              Cohere
  sandwich,    // x += N A(N x); x += N F(N x)                         GLM-4
  deep,        // x = a N x + A(N x); x = a N x + F(N x), F with GELU  ChatGLM-6B (DeepNorm, arXiv 2203.00555)
};

struct Model {
  Plan plan;
  Weights weights;
  Wiring wiring = Wiring::sequential;
  double epsilon = 1e-5;
  bool centred = false;      // LayerNorm instead of RMSNorm
  double logit_scale = 1.0;  // of the last matrix's output (Cohere)
  double deep_scale = 1.0;   // a of Wiring::deep
  std::int64_t prefix = 0;   // tokens at the front that see one another
};

// Turns q [tokens, heads, head_dim] and k [tokens, kv_heads, head_dim] of one layer, whose first token is number
// `first` of its sequence.
using Rotation = std::function<void(const LayerPlan& layer, std::int64_t first, Numbers& q, Numbers& k)>;

// What is added to the numbers of the tokens before they are turned.
struct Shift {
  std::int64_t queries = 0, keys = 0;
};

// posenc::rotate on floats by that instruction set, or reference::rotate on doubles.
using Way = std::optional<Isa>;
inline constexpr Way kReference{};
void turn(const Rope& rope, Way way, const Positions& positions, std::int64_t heads, Numbers& x);
Rotation by(Way way, Shift shift = {});

// Bits of the arithmetic that a run is thought to be made in. Each result of a step of so many bits is moved by up to
// half a unit of its last place, at random: what rounding does to the logits, by experiment.
struct Roundings {
  int norms = 53;     // norms and softmax
  int sums = 53;      // projections and sums
  int rotation = 53;  // of q and k, with what goes in and comes out
  std::uint64_t seed = 0;
};

class Decoder {
 public:
  Decoder(const Model& model, const Rotation& rotation, std::optional<Roundings> roundings = {});

  // Hidden states [tokens, hidden] behind the last norm. Keys and values of earlier calls are kept and seen.
  Numbers hidden(std::span<const std::int64_t> tokens);
  Numbers logits(std::span<const std::int64_t> tokens);  // [tokens, vocab]

 private:
  Numbers linear(const Numbers& x, const std::string& name) const;
  Numbers norm(const Numbers& x, const std::string& name) const;
  Numbers attention(const LayerPlan& layer, const Numbers& x);
  void attend(const LayerPlan& layer, const Numbers& q, std::int64_t row, Numbers& out) const;
  Numbers feed_forward(const Numbers& x, const std::string& at) const;
  void block(const LayerPlan& layer, Numbers& x);
  double rounded(double x, int Roundings::*bits, int times = 1) const;
  Numbers bias(const std::string& name, std::size_t outputs) const;  // zeros where there is none

  const Model& model_;
  Rotation rotation_;
  std::optional<Roundings> roundings_;
  mutable std::mt19937_64 random_;
  std::vector<Numbers> k_;  // of each layer, [tokens so far, kv_heads, head_dim]
  std::vector<Numbers> v_;
  std::int64_t seen_ = 0;  // tokens of earlier calls
};

}  // namespace posenc::test
