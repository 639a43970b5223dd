// The dictionaries in which a config says how it rotates: rope_parameters (v5) or rope_scaling (before), flat or one
// per layer type. Which of them counts, and where each key is looked for:
//
//   rope_scaling beats rope_parameters, as a whole; where each layer type has its own, both are undecided.
//   A dictionary per layer type beats flat keys beside it.
//   A key in a dictionary, that of the class too, beats the same key outside, except original_max_position_embeddings
//   for LongRoPE.
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
  // Whether the class puts the keys of the old dictionary among those by layer type that it has, where each has a
  // rope_type: an old name of it has no effect then.
  bool joins_class_defaults() const { return is_legacy_ && has_types_of_class(); }
  bool is_legacy() const { return is_legacy_; }  // rope_scaling
  // Whether kinds of layers have dictionaries of their own.
  bool are_by_name() const { return !nested_.empty(); }
  // Whether transformers' class has a dictionary for each layer type, which reads nothing beside it but the base.
  bool has_types_of_class() const { return scope_.family().ropes_per_type && scope_.has_class(); }
  // Whether it has a dictionary for each kind of layer, whatever the kinds.
  bool has_kinds_of_class() const {
    return scope_.has_class() && (scope_.family().ropes_per_type || scope_.family().compressed_keys);
  }
  // The key at the top of what transformers' class has as rope_parameters, null included: beside the dictionaries of
  // kinds of layers where there are such, into which the class puts all that the old dictionary says.
  std::optional<Place> at_top(std::string_view name) const;
  // Where it says that layers of that type do not rotate: null in place of their dictionary.
  std::optional<Place> null_of(const LayerTraits& layer);
  // Whether pairs are dealt out to several axes though the family has no rule for it.
  bool has_unknown_axes() const;
  // Warns of keys in the dictionaries that nobody asked for. Call it last.
  void warn_unknown() const;

 private:
  std::optional<Place> dictionary(std::string_view name);
  void choose(std::optional<Place> parameters, std::optional<Place> scaling);
  void warn_of_two(const Place& scaling, const Place& parameters);
  void leave_types_open(const Place& scaling);
  void find_nested();

  ConfigScope& scope_;
  std::optional<Place> chosen_;
  bool is_legacy_ = false;     // rope_scaling
  std::vector<Place> nested_;  // one per kind of layer that has one
};

}  // namespace posenc::plan
