#include "plan/rope_dicts.h"

#include <fmt/compile.h>

#include <algorithm>
#include <utility>

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

std::vector<JsonValue> nested_members(const JsonValue& dictionary) {
  std::vector<JsonValue> nested = dictionary.items();
  std::erase_if(nested, [](const JsonValue& member) {
    return !layer_type(member.key()) || (member.kind() != JsonKind::object && !member.is_null());
  });
  return nested;
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
  reader.warn("misleading-key", fmt::format(FMT_COMPILE("{} is empty; read as absent."), place->from), {place->from});
  return {};
}

void RopeDicts::choose(std::optional<Place> parameters, std::optional<Place> scaling) {
  ConfigReader& reader = scope_.reader();
  if (parameters && scaling && !agrees(reader, parameters->value, scaling->value)) {
    reader.warn("precedence",
                fmt::format(FMT_COMPILE("{} ({}) and {} ({}) differ; the first wins as a whole."), parameters->from,
                            shown(parameters->value), scaling->from, shown(scaling->value)),
                {parameters->from, scaling->from});
  }
  is_legacy_ = !parameters && scaling;
  chosen_ = parameters ? std::move(parameters) : std::move(scaling);
  if (!chosen_) chosen_ = scope_.class_default(keys::kRopeParameters);
  if (chosen_ && chosen_->in_file) reader.enter(chosen_->value);
}

void RopeDicts::find_nested() {
  for (const JsonValue& member : nested_members(chosen_->value)) {
    if (member.is_null()) continue;
    nested_.push_back(Place{member, member.pointer()});
    nested_types_.push_back(*layer_type(member.key()));
    scope_.reader().enter(member);
  }
}

std::vector<Place> RopeDicts::places(LayerType type) {
  if (!chosen_ || scope_.reader().failed()) return {};
  std::vector<Place> found;
  for (std::size_t i = 0; i < nested_.size(); ++i) {
    if (nested_types_[i] == type) found.push_back(nested_[i]);
  }
  if (scope_.family().ropes_per_type) {
    // The class fills in a type that has no dictionary; a flat one is for full layers, in the old form only.
    if (nested_.empty() && is_legacy_ && (type == LayerType::full || scope_.family().flat_rope_for_all_types)) {
      found.push_back(*chosen_);
    }
    return found;
  }
  if (!nested_.empty() && found.empty()) {
    scope_.reader().fail(
        *chosen_, ErrorKind::missing_layer_type, fmt::format(FMT_COMPILE("parameters for {} layers"), name(type)),
        fmt::format(FMT_COMPILE("the model has such layers, and other types have parameters of their own")));
  }
  found.push_back(*chosen_);
  return found;
}

bool RopeDicts::has_axes() const {
  return chosen_ && scope_.reader().look(chosen_->value, "mrope_section").has_value();
}

void RopeDicts::warn_unknown() const {
  if (!chosen_ || !chosen_->in_file) return;
  std::vector<std::string> unread = scope_.reader().unknown_members(chosen_->value);
  if (unread.empty()) return;
  std::string message = fmt::format(FMT_COMPILE("{} {} no effect in this place."), fmt::join(unread, ", "),
                                    unread.size() == 1 ? "has" : "have");
  scope_.reader().warn("unknown-rope-key", std::move(message), std::move(unread));
}

}  // namespace posenc::plan
