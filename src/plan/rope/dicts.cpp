// Finds a layer's rope dictionary: rope_scaling, else rope_parameters, else the class's; in it that of the layer's
// type. Warns where the first two disagree, and of keys that nobody read.
#include "plan/rope/dicts.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "plan/keys/key_notes.h"

namespace posenc::plan {

using io::JsonKind;
using io::JsonValue;

namespace {

// Whether everything that `loser` says stands in `winner` too; "type" is the old name of "rope_type".
bool agrees(ConfigReader& reader, const JsonValue& winner, const JsonValue& loser) {
  return std::ranges::all_of(loser.items(), [&](const JsonValue& member) {
    if (member.is_null()) return true;
    auto same = reader.look(winner, member.key());
    if (!same && member.key() == "type") same = reader.look(winner, "rope_type");
    return same && same_value(same->value, member);
  });
}

// Whether a layer's keys stand in the dictionary of that name, where there is one per kind: "full_attention", or with
// keys made of several tokens "main" and "compress".
bool is_of(const Family& family, const LayerTraits& layer, std::string_view dictionary) {
  if (!family.compressed_keys) return layer_type(dictionary) == layer.type;
  return dictionary == (layer.compression > 0 ? "compress" : "main");
}

bool names_kind_of_layer(const Family& family, std::string_view key) {
  if (family.compressed_keys) return key == "main" || key == "compress";
  return layer_type(key).has_value();
}

std::vector<JsonValue> nested_members(const Family& family, const JsonValue& dictionary) {
  std::vector<JsonValue> nested = dictionary.items();
  std::erase_if(nested, [&](const JsonValue& member) {
    return !names_kind_of_layer(family, member.key()) || (member.kind() != JsonKind::object && !member.is_null());
  });
  return nested;
}

// Which layers a dictionary without nested ones is for, in families whose kinds of layers rotate differently.
bool flat_is_for(const Family& family, const LayerTraits& layer, bool is_legacy) {
  if (family.compressed_keys) return layer.compression > 0;
  // The class fills in a type that has no dictionary; a flat one is for full layers, in the old form only.
  return is_legacy && (layer.type == LayerType::full || family.flat_rope_for_all_types);
}

}  // namespace

RopeDicts::RopeDicts(ConfigScope& scope) : scope_(scope) {
  if (!scope.family().scales) return;
  choose(dictionary("rope_parameters"), dictionary("rope_scaling"));
  if (chosen_) find_nested();
}

// Absent, null and empty are the same; an empty one is worth a warning.
std::optional<Place> RopeDicts::dictionary(std::string_view name) {
  ConfigReader& reader = scope_.reader();
  auto place = reader.look(scope_.object(), name);
  if (!place || place->value.is_null()) return {};
  if (place->value.kind() != JsonKind::object) {
    reader.fail(*place, ErrorKind::type, "an object or null");
    return {};
  }
  if (place->value.size() > 0) return place;
  reader.warn("misleading-key", formatted("{} is empty; read as absent.", place->from), {place->from});
  return {};
}

void RopeDicts::choose(std::optional<Place> parameters, std::optional<Place> scaling) {
  ConfigReader& reader = scope_.reader();
  if (scaling && !scope_.reads("rope_scaling")) {
    if (scope_.family().ropes_per_type && !nested_members(scope_.family(), scaling->value).empty()) {
      leave_types_open(*scaling);
    }
    scope_.pass_over(*scaling);
    scaling.reset();
  }
  if (parameters && scaling && !agrees(reader, parameters->value, scaling->value)) warn_of_two(*scaling, *parameters);
  is_legacy_ = !parameters && scaling;
  chosen_ = scaling ? std::move(scaling) : std::move(parameters);
  if (!chosen_) chosen_ = scope_.class_default(keys::kRopeParameters);
  if (chosen_ && chosen_->in_file) reader.enter(chosen_->value);
}

// transformers 5 puts rope_scaling in the place of rope_parameters; where those are by the type of a layer, it is put
// into some of them.
void RopeDicts::warn_of_two(const Place& scaling, const Place& parameters) {
  ConfigReader& reader = scope_.reader();
  std::string message = formatted("{} ({}) and {} ({}) differ; the first wins as a whole.", scaling.from,
                                  shown(scaling.value), parameters.from, shown(parameters.value));
  if (scope_.family().ropes_per_type) {
    reader.undecided(std::move(message), {scaling.from, parameters.from});
  } else {
    reader.warn("precedence", std::move(message), {scaling.from, parameters.from});
  }
}

// Under the old name some classes find dictionaries by layer type, and some do not.
void RopeDicts::leave_types_open(const Place& scaling) {
  scope_.reader().undecided(
      formatted("{} has a dictionary for each type of layer: classes differ in whether they find it there.",
                scaling.from),
      {scaling.from});
}

void RopeDicts::find_nested() {
  // Of a class that rotates all its layers alike, dictionaries by the names of layer types are none that it would find.
  const Family& family = scope_.family();
  const bool is_by_type = family.ropes_per_type || family.compressed_keys;
  if (scope_.has_class() && !is_by_type) return;
  const std::vector<JsonValue> members = nested_members(family, chosen_->value);
  // DeepSeek V4's class takes both of its dictionaries, or none.
  constexpr std::size_t kMainAndCompress = 2;
  if (scope_.has_class() && family.compressed_keys && members.size() < kMainAndCompress) return;
  if (joins_class_defaults() && !members.empty()) leave_types_open(*chosen_);
  for (const JsonValue& member : members) {
    if (member.is_null()) continue;
    nested_.push_back(Place{member, chosen_->in_file ? member.pointer() : chosen_->from, chosen_->in_file});
    if (chosen_->in_file) scope_.reader().enter(member);
  }
}

std::vector<Place> RopeDicts::places(const LayerTraits& layer) {
  if (!chosen_ || scope_.reader().failed()) return {};
  const Family& family = scope_.family();
  std::vector<Place> found;
  for (const Place& nested : nested_) {
    if (is_of(family, layer, nested.value.key())) found.push_back(nested);
  }
  if (family.ropes_per_type || family.compressed_keys) {
    if (nested_.empty() && flat_is_for(family, layer, is_legacy_)) found.push_back(*chosen_);
    return found;
  }
  if (!nested_.empty() && found.empty()) {
    scope_.reader().fail(*chosen_, ErrorKind::missing_layer_type,
                         formatted("parameters for {} layers", name(layer.type)),
                         formatted("the model has such layers, and other types have parameters of their own"));
  }
  found.push_back(*chosen_);
  return found;
}

std::optional<Place> RopeDicts::at_top(std::string_view name) const {
  // DeepSeek V4's class keeps nothing beside its two dictionaries.
  const bool is_put_inside = has_kinds_of_class() && (is_legacy_ || scope_.family().compressed_keys);
  if (!chosen_ || is_put_inside) return {};
  auto place = scope_.reader().look(chosen_->value, name);
  return place && !chosen_->in_file ? Place{place->value, chosen_->from, false} : place;
}

std::optional<Place> RopeDicts::null_of(const LayerTraits& layer) {
  if (!chosen_ || !scope_.family().ropes_per_type) return {};
  for (const JsonValue& member : chosen_->value.items()) {
    if (!member.is_null() || !is_of(scope_.family(), layer, member.key())) continue;
    if (!chosen_->in_file) return Place{member, chosen_->from, false};
    scope_.reader().mark_read(Place{member, member.pointer()});
    return Place{member, member.pointer()};
  }
  return {};
}

bool RopeDicts::has_unknown_axes() const {
  return !scope_.family().axes && chosen_ && scope_.reader().look(chosen_->value, "mrope_section").has_value();
}

void RopeDicts::warn_unknown() const {
  if (!chosen_ || !chosen_->in_file) return;
  std::vector<std::string> unread = scope_.reader().unknown_members(chosen_->value);
  // Those are warned of with what was meant (read/config_plan.cpp).
  std::erase_if(unread, [](const std::string& pointer) {
    return !misspelled_key(std::string_view(pointer).substr(pointer.rfind('/') + 1)).empty();
  });
  if (unread.empty()) return;
  std::string message =
      formatted("{} {} no effect in this place.", joined(unread, ", "), unread.size() == 1 ? "has" : "have");
  scope_.reader().warn("unknown-rope-key", std::move(message), std::move(unread));
}

}  // namespace posenc::plan
