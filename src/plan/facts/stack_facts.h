// What is known of a stack and of its layers, whatever file it was read from: readers of configs, of towers and of GGUF
// headers fill it and know nothing of plans; plan_of.h makes stacks of a plan of it. Each value is set together with
// where it came from:
//
//   layer.set(facts::kHeads, 32, "/num_attention_heads");
// The sources stand in the order in which the facts were set; a fact that is set again forgets its first source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plan/facts/mask_words.h"
#include "plan/facts/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

// A fact of a layer or of its mask, under the name that it has in the sources of a plan.
template <typename Owner, typename T>
struct LayerFact {
  std::string_view name;
  T Owner::*member;
};
// Clang before 17 deduces nothing for an aggregate by itself.
template <typename Owner, typename T>
LayerFact(std::string_view, T Owner::*) -> LayerFact<Owner, T>;

namespace facts {

inline constexpr LayerFact kHeads{"heads", &LayerPlan::heads};
inline constexpr LayerFact kKvHeads{"kv_heads", &LayerPlan::kv_heads};
inline constexpr LayerFact kHeadDim{"head_dim", &LayerPlan::head_dim};
inline constexpr LayerFact kValueDim{"value_dim", &LayerPlan::value_dim};
inline constexpr LayerFact kKvFrom{"kv_from", &LayerPlan::kv_from};
inline constexpr LayerFact kCompression{"compression", &LayerPlan::compression};
inline constexpr LayerFact kMixing{"mixing", &LayerPlan::mixing};
inline constexpr LayerFact kBeginsApart{"begins_apart", &LayerPlan::begins_apart};
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

// What is known of a kind of layer.
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
  // The same facts of a layer of another kind.
  LayerFacts as(LayerKind kind) const {
    LayerFacts other = *this;
    other.layer_.kind = kind;
    return other;
  }
  // As another layer has it, from where that one has it.
  template <typename Owner, typename T>
  void copy(LayerFact<Owner, T> fact, LayerFacts& other) {
    at(fact) = other.at(fact);
    if (const FieldSource* source = other.source_of(fact.name)) say(fact.name, source->from);
  }

  // One rotation more; `sources` name its fields: "base".
  void add(Rotate rotate, const std::vector<FieldSource>& sources);
  // One addition more, and where it came from.
  void add(Added added, std::string from);
  // One term more, whose sources say() has.
  void add(ScoreTerm term) { layer_.score.push_back(std::move(term)); }
  // The whole mask; `sources` name its fields: "mask/kind".
  void set(Mask mask, const std::vector<FieldSource>& sources);
  // The words of its mask, and what they come to.
  void set_words(std::string words, Sees sees, std::string from) {
    set(facts::kMaskDetail, std::move(words), std::move(from));
    set_sees(sees, layer_.mask);
  }
  // An indexer picks the keys of its mask.
  void pick_keys() { layer_.mask.by_indexer = true; }
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

// Layers in order. Equal sources of several layers are kept once, so that memory does not follow what a file claims.
class StackLayers {
 public:
  // `block`: self and cross attention of one block share it.
  void add(const LayerFacts& layer, std::int64_t block);
  void reserve(std::int64_t layers) { layers_.reserve(static_cast<std::size_t>(layers)); }

  const std::vector<LayerPlan>& layers() const noexcept { return layers_; }
  std::vector<LayerPlan> take_layers() { return std::move(layers_); }
  // "/stacks/0/layers/0-31/rotate/0/base", "/stacks/0/layers/0-4,6-10/mask/window". `prefix`: "/stacks/0/layers".
  std::vector<ValueSource> sources(std::string_view prefix) const;

 private:
  struct Source {
    FieldSource source;
    std::string layers;      // "0-4,6-10", the last range without its end
    std::int64_t first = 0;  // of the last range
    std::int64_t last = 0;
  };
  std::vector<LayerPlan> layers_;
  std::vector<Source> sources_;
};

struct StackFacts {
  std::string name{};
  std::vector<InputScheme> input{};
  std::vector<FieldSource> input_sources{};  // "input/0/positions"
  std::string count_from{};                  // what says how many layers there are
  StackLayers layers{};
  Sourced<std::int64_t> trained_length{};  // 0: the file does not say
  FedBy fed_by = FedBy::not_said;
  std::vector<std::string> unknown{};  // what could not be decided, a phrase each
};

}  // namespace posenc::plan
