// A model of a few layers in double, run from tokens to what each layer attends to: whatever a plan says of positions,
// with random weights, around reference::attend. Its caches are operated on, and held against those of a run from the
// start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "posenc/attention.h"
#include "posenc/plan.h"
#include "support/all_schemes.h"
#include "support/random_tensor.h"

namespace posenc::test {

// Tokens, and where each stands: the same on every axis, as text does.
struct Text {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> places;
  std::int64_t length = 64;  // of which rules by length are asked
};

// What a layer has of each token. Keys as they are projected, and normalised where the norm comes first.
struct LayerTokens {
  Tensor q;           // [tokens, heads, head_dim]
  Tensor k;           // [tokens, kv_heads, head_dim]
  Tensor v;           // [tokens, kv_heads, value_dim]
  Tensor log_forget;  // [tokens, heads]
  Tensor row_gate;    // [tokens, heads]
  Tensor logits;      // [tokens, heads, channels], Inkling's r
  std::vector<std::int32_t> segments;
};

// Whether the norm of queries and keys comes after the rotation.
bool norm_follows(const LayerPlan& layer);

// One row for each token of `from`, in the order of `rows`.
LayerTokens picked(const std::vector<const LayerTokens*>& from, const std::vector<std::int64_t>& rows);

class SmallModel {
 public:
  // All layers of the plan's first stack have the sizes of plain_layer(). `weights`: tables of each layer's schemes.
  SmallModel(Plan plan, std::function<LayerWeights(Tables&)> weights, std::uint64_t seed);

  const Plan& plan() const { return plan_; }
  const LayerPlan& layer(std::size_t l) const { return plan_.stacks.front().layers[l]; }
  // For each layer, its tokens. The same weights under another plan: `as`.
  std::vector<LayerTokens> run(const Text& text, const Plan* as = nullptr) const;

  // ---- one layer, by whichever plan ----

  // The last `queries` rows of `asks` over the keys, values and gates of `cached`, whose order is that of the rows.
  // [queries, heads, value_dim]. Keys that are `rotated` have RoPE applied, and the norm after it.
  std::vector<double> attended(const LayerPlan& layer, std::size_t at, const LayerTokens& asks,
                               const LayerTokens& cached, const Text& text, bool rotated) const;
  // Keys with RoPE applied at these places, and the norm behind it.
  Tensor rotated(const LayerPlan& layer, std::size_t at, const Tensor& keys, const Text& text) const;

 private:
  struct OfLayer;
  Tensor added(const InputScheme& scheme, const Tensor& hidden, const Text& text) const;
  LayerTokens projected(const LayerPlan& layer, std::size_t at, const Tensor& hidden, const Text& text) const;

  Plan plan_;
  std::uint64_t seed_;
  std::shared_ptr<Random> random_;
  std::shared_ptr<Tables> tables_;
  Tensor embeddings_;
  std::vector<std::shared_ptr<OfLayer>> layers_;
};

// R from the places of `from` to those of `to`, of keys that are stored rotated: rerotate's formula, in double.
Tensor moved(const LayerPlan& layer, const Tensor& keys, const Text& from, const Text& to, const LayerPlan& reads);

}  // namespace posenc::test
