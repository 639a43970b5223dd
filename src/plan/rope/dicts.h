// The dictionaries in which a config says how it rotates: rope_parameters (v5) or rope_scaling (before), flat or one
// per layer type. Which of them counts, and where each key is looked for:
//
//   rope_parameters beats rope_scaling, as a whole.
//   A dictionary per layer type beats flat keys beside it.
//   A key in a dictionary beats the same key outside, except original_max_position_embeddings for LongRoPE.
// The loser is a `precedence` warning when it says something else.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

class RopeDicts {
 public:
  explicit RopeDicts(ConfigScope& scope);

  ConfigScope& scope() const noexcept { return scope_; }

  // Where the keys of such a layer stand, best first. An error where other types have a dictionary and this has not.
  std::vector<Place> places(const LayerTraits& layer);
  // Where it says that layers of that type do not rotate: null in place of their dictionary.
  std::optional<Place> null_of(const LayerTraits& layer);
  // Whether pairs are dealt out to several axes though the family has no rule for it.
  bool has_unknown_axes() const;
  // Warns of keys in the dictionaries that nobody asked for. Call it last.
  void warn_unknown() const;

 private:
  std::optional<Place> dictionary(std::string_view name);
  void choose(std::optional<Place> parameters, std::optional<Place> scaling);
  void find_nested();

  ConfigScope& scope_;
  std::optional<Place> chosen_;
  bool is_legacy_ = false;     // rope_scaling
  std::vector<Place> nested_;  // one per kind of layer that has one
};

}  // namespace posenc::plan
