// What of a config nobody read though a stack may depend on it: an object that describes a stack, and position keys
// where the class is another than the one whose rules were followed.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/keys/key_notes.h"
#include "plan/read/config.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;

// An object that says what type of model it is, or how many layers and heads it has and how wide.
bool describes_stack(ConfigReader& reader, const JsonValue& object) {
  if (object.kind() != JsonKind::object) return false;
  if (has_sizes(reader, object)) return true;
  const auto names = [&](std::string_view word) { return object.key().find(word) != std::string_view::npos; };
  if (names("projector") || names("diffusion_head")) return false;  // they map each token by itself
  const auto type = reader.look(object, "model_type");
  return type && type->value.kind() == JsonKind::string && !type->value.text().empty();
}

// Objects that every file is asked for (any_layout).
bool has_place(std::string_view key) {
  return std::ranges::any_of(any_layout().others, [&](const OtherPlace& place) { return place.object == key; });
}

// Null, false, and the kind of every layer in a list of plain ones say nothing.
bool says_something(const JsonValue& value) {
  if (value.is_null()) return false;
  if (value.kind() == JsonKind::array) {
    return std::ranges::any_of(value.items(), [](const JsonValue& entry) {
      return entry.kind() != JsonKind::string || entry.text() != "full_attention";
    });
  }
  return value.kind() != JsonKind::boolean || (value.as_bool().ok() && *value.as_bool());
}

// Names that a class gives its position keys; those that are known to be of other things are not asked for these.
constexpr std::array<std::string_view, 6> kPositionWords = {"rope",     "rotary",   "alibi",
                                                            "position", "relative", "window"};

// Sizes and tokens by another of their names: no class rotates by them.
constexpr const Key* kSizes[] = {&keys::kLayers,     &keys::kHeads,   &keys::kKvHeads,
                                 &keys::kHidden,     &keys::kHeadDim, &keys::kPadding,
                                 &keys::kTokenTypes, &keys::kLength,  &keys::kPredictionLayers};

// "use_qk_norm": true; says_something() has left out false.
bool is_norm_switch(const JsonValue& member) {
  return member.kind() == JsonKind::boolean && member.key().find("qk") != std::string_view::npos &&
         member.key().find("norm") != std::string_view::npos;
}

// Of windows, which use_sliding_window: false switches off in every class that has the key.
bool is_switched_off(const JsonValue& object, std::string_view name) {
  if (!keys::kWindow.names.contains(name) && !keys::kMaxWindowLayers.names.contains(name)) return false;
  const auto use = object.find(keys::kUseWindow.name());
  return use.ok() && *use && (*use)->kind() == JsonKind::boolean && !*(*use)->as_bool();
}

bool is_position_name(std::string_view name) {
  if (name == "block_size") return false;  // of tokens that are drafted together, of blocks of keys: nobody says
  if (std::ranges::any_of(kSizes, [&](const Key* key) { return key->names.contains(name); })) return false;
  if (!names_of_key(name).empty()) return true;
  if (is_known_key(name)) return false;
  return std::ranges::any_of(kPositionWords, [&](std::string_view word) { return name.find(word) != name.npos; });
}

}  // namespace

void name_unread_objects(ConfigReader& reader, Plan& plan) {
  for (const JsonValue& member : reader.root().items()) {
    if (reader.failed()) return;
    if (has_place(member.key()) || reader.was_entered(member) || !describes_stack(reader, member)) continue;
    const std::string key(member.key());
    read_other_stack(reader, Place{member, member.pointer()}, {.object = key}, plan);
  }
}

void leave_unread_keys_open(ConfigReader& reader, const JsonValue& object, std::string_view architecture,
                            const StackFacts& stack) {
  const bool has_norm =
      std::ranges::any_of(stack.layers.layers(), [](const LayerPlan& layer) { return layer.qk_norm.has_value(); });
  const std::vector<std::string> unread = reader.unknown_members(object);
  for (const JsonValue& member : object.items()) {
    if (!is_position_name(member.key()) || !says_something(member)) continue;
    if (is_switched_off(object, member.key())) continue;
    if (has_norm && is_norm_switch(member)) continue;
    const std::string pointer = member.pointer();
    if (std::ranges::find(unread, pointer) == unread.end()) continue;
    reader.undecided(formatted("{} is given: what {} does with it is not known.", pointer, architecture), {pointer});
  }
}

}  // namespace posenc::plan
