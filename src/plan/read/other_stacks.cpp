#include "plan/read/other_stacks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/assemble/plan_of.h"
#include "plan/families/class_defaults.h"
#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/convolution_stacks.h"
#include "plan/towers/encoder_decoder.h"
#include "plan/towers/stack.h"

namespace posenc::plan {
namespace {

// Layers that a plan of so many may still get; at least 1, so that a bound can be said.
std::int64_t room_for_layers(const Plan& plan) {
  std::int64_t used = 0;
  for (const Stack& stack : plan.stacks) used += static_cast<std::int64_t>(stack.layers.size());
  return std::max<std::int64_t>(kMaxLayers - used, 1);
}

void warn_undecided(ConfigReader& reader, const Place& object, std::string_view type, std::string_view what,
                    Plan& plan) {
  const std::string shown = type.empty() ? object.from : formatted("{} ({})", object.from, type);
  reader.warn("undecided", formatted("{}: {}: nothing decides it.", shown, what), {object.from});
  plan.known = false;
}

std::string type_of(ConfigReader& reader, const Place& object, const OtherPlace& place) {
  if (place.rule == TypeRule::fixed) return std::string(place.type);
  const ClassNames names = read_class_names(reader, object.value);
  return names.model_type.empty() ? std::string(place.type) : names.model_type;
}

// Under which name a tower's class defaults stand: its own type's, where that has a class, else its row's.
std::string_view class_of(std::string_view type, const Tower& tower) {
  return find_class_default(type, keys::kHidden.name()) ? type : tower.family.name;
}

void read_family_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, const Family& family,
                       Plan& plan) {
  const FamilyObject of{.object = object.value,
                        .family = family,
                        .model_type = family.model_types.front(),
                        .architecture = {},
                        .encoder_only = place.encoder_only,
                        .room = room_for_layers(plan)};
  std::vector<StackFacts> stacks = read_family_stacks(reader, of);
  for (StackFacts& one : stacks) {
    plan.known = plan.known && one.known;
    if (!place.name.empty()) {
      one.name = stacks.size() == 1 ? std::string(place.name) : formatted("{}_{}", place.name, one.name);
    }
    add_stack(std::move(one), plan);
  }
}

}  // namespace

void read_other_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, Plan& plan) {
  const std::string type = type_of(reader, object, place);
  if (const Tower* tower = find_tower(type)) {
    ConfigScope scope(reader, object.value, tower->family, class_of(type, *tower));
    add_stack(read_tower_stack(scope, *tower, room_for_layers(plan)), plan);
    if (!tower->undecided.empty()) warn_undecided(reader, object, type, tower->undecided, plan);
  } else if (const Convolutions* convolutions = find_convolutions(type)) {
    ConfigScope scope(reader, object.value, convolutions->family, convolutions->family.name);
    for (StackFacts& one : read_convolution_stacks(scope, *convolutions, room_for_layers(plan))) {
      add_stack(std::move(one), plan);
    }
  } else if (const Family* family = find_family(type); family != nullptr && !place.name.empty()) {
    read_family_stack(reader, object, place, *family, plan);
  } else {
    warn_undecided(reader, object, type, "the whole stack, of a type that is not known here", plan);
  }
}

void name_unread_stack(ConfigReader& reader, const Place& sign, const OtherPlace& place, Plan& plan) {
  reader.mark_read(sign);
  if (!reader.integer(sign, {1, kMaxPosition})) return;
  warn_undecided(reader, sign, place.type, "a stack of which the file says no more", plan);
  add_stack({.name = std::string(place.type)}, plan);
}

}  // namespace posenc::plan
