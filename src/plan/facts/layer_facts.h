// What is known of a kind of layer: each value is set together with where it came from.
//
//   layer.set(facts::kHeads, 32, "/num_attention_heads");
// The sources stand in the order in which the facts were set; a fact that is set again forgets its first source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plan/facts/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

// A fact of a layer or of its mask, under the name that it has in the sources of a plan.
template <typename Owner, typename T>
struct LayerFact {
  std::string_view name;
  T Owner::*member;
};

namespace facts {

inline constexpr LayerFact kHeads{"heads", &LayerPlan::heads};
inline constexpr LayerFact kKvHeads{"kv_heads", &LayerPlan::kv_heads};
inline constexpr LayerFact kHeadDim{"head_dim", &LayerPlan::head_dim};
inline constexpr LayerFact kValueDim{"value_dim", &LayerPlan::value_dim};
inline constexpr LayerFact kKvFrom{"kv_from", &LayerPlan::kv_from};
inline constexpr LayerFact kCompression{"compression", &LayerPlan::compression};
inline constexpr LayerFact kSoftmaxScale{"softmax_scale", &LayerPlan::softmax_scale};
inline constexpr LayerFact kSoftCap{"soft_cap", &LayerPlan::soft_cap};
inline constexpr LayerFact kSinks{"sinks", &LayerPlan::sinks};
inline constexpr LayerFact kQkNorm{"qk_norm", &LayerPlan::qk_norm};
inline constexpr LayerFact kMaskKind{"mask/kind", &Mask::kind};
inline constexpr LayerFact kWindow{"mask/window", &Mask::window};
inline constexpr LayerFact kChunk{"mask/chunk", &Mask::chunk};
inline constexpr LayerFact kMaskDetail{"mask/detail", &Mask::detail};
inline constexpr LayerFact kRegions{"regions", &LayerPlan::regions};
inline constexpr LayerFact kValue{"value", &LayerPlan::value};
inline constexpr LayerFact kQueryScale{"query_scale", &LayerPlan::query_scale};

}  // namespace facts

class LayerFacts {
 public:
  explicit LayerFacts(LayerKind kind) { layer_.kind = kind; }

  template <typename Owner, typename T>
  void set(LayerFact<Owner, T> fact, std::type_identity_t<T> value, std::string from) {
    at(fact) = std::move(value);
    say(fact.name, std::move(from));
  }
  template <typename Owner, typename T, typename U>
  void set(LayerFact<Owner, T> fact, const Sourced<U>& value) {
    set(fact, value.value, value.from);
  }
  // As another layer has it, from where that one has it.
  template <typename Owner, typename T>
  void copy(LayerFact<Owner, T> fact, LayerFacts& other) {
    at(fact) = other.at(fact);
    if (const FieldSource* source = other.source_of(fact.name)) say(fact.name, source->from);
  }

  // One rotation more; `sources` name its fields: "base".
  void add(Rotate rotate, const std::vector<FieldSource>& sources);
  // One term more, whose sources say() has.
  void add(ScoreTerm term) { layer_.score.push_back(std::move(term)); }
  // The whole mask; `sources` name its fields: "mask/kind".
  void set(Mask mask, const std::vector<FieldSource>& sources);
  // The softmax scale has a learned factor per channel besides.
  void scale_channels() { layer_.channel_scale = true; }

  // Where a part of a fact came from ("score/0/heads"), or why there is none ("rotate").
  void say(std::string_view name, std::string from);
  void say(const std::vector<FieldSource>& sources);

  const LayerPlan& layer() const noexcept { return layer_; }
  const std::vector<FieldSource>& sources() const noexcept { return sources_; }

 private:
  template <typename Owner, typename T>
  T& at(LayerFact<Owner, T> fact) {
    if constexpr (std::is_same_v<Owner, Mask>) {
      return layer_.mask.*fact.member;
    } else {
      return layer_.*fact.member;
    }
  }
  const FieldSource* source_of(std::string_view name) const;

  LayerPlan layer_;
  std::vector<FieldSource> sources_;
};

}  // namespace posenc::plan
