// Stacks beside the text decoder (vision and audio towers, codecs, text encoders), and those that a key only signals.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/assemble/plan_of.h"
#include "plan/families/class_defaults.h"
#include "plan/families/tower.h"
#include "plan/read/config.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

// Layers that a plan of so many may still get; at least 1, so that a bound can be said.
std::int64_t room_for_layers(const Plan& plan) {
  std::int64_t used = 0;
  for (const Stack& stack : plan.stacks) used += static_cast<std::int64_t>(stack.layers.size());
  return std::max<std::int64_t>(kMaxLayers - used, 1);
}

void warn_undecided(ConfigReader& reader, const Place& object, std::string_view type, std::string_view what) {
  const std::string shown = type.empty() ? object.from : formatted("{} ({})", object.from, type);
  reader.undecided(formatted("{}: {}: nothing decides it.", shown, what), {object.from});
}

// What a stack is called that no row names: "vision" of vision_config.
std::string stack_name(const OtherPlace& place) {
  if (!place.name.empty()) return std::string(place.name);
  std::string_view key = place.object.substr(0, place.object.find('/'));
  constexpr std::string_view kEnding = "_config";
  if (key.size() > kEnding.size() && key.ends_with(kEnding)) key.remove_suffix(kEnding.size());
  return std::string(key);
}

void add_unread(ConfigReader& reader, std::string name, Plan& plan) {
  StackFacts stack{.name = std::move(name)};
  stack.unknown = reader.take_undecided();
  add_stack(std::move(stack), plan);
}

// DeepSeek-VL2 and Janus say "vision", and under model_name, or under that in params, which encoder they mean.
std::string named_type(ConfigReader& reader, const io::JsonValue& object) {
  const auto params = reader.look(object, "params");
  const bool nested = params && params->value.kind() == io::JsonKind::object;
  const auto name = reader.look(nested ? params->value : object, "model_name");
  if (!name || name->value.kind() != io::JsonKind::string) return {};
  std::string type(name->value.text());
  if (find_tower(type) == nullptr) return {};
  if (nested) reader.enter(params->value);
  reader.mark_read(*name);
  return type;
}

// RADIO says under args/model which encoder it is.
std::string radio_type(ConfigReader& reader, const io::JsonValue& object) {
  const auto args = reader.look(object, "args");
  const auto name =
      args && args->value.kind() == io::JsonKind::object ? reader.look(args->value, "model") : std::nullopt;
  if (!name || name->value.kind() != io::JsonKind::string) return {};
  reader.mark_read(*name);
  return "radio/" + std::string(name->value.text());
}

std::string type_of(ConfigReader& reader, const Place& object, const OtherPlace& place) {
  if (place.rule == TypeRule::fixed) return std::string(place.type);
  const ClassNames names = read_class_names(reader, object.value);
  if (std::string radio = place.type == "radio" ? radio_type(reader, object.value) : std::string(); !radio.empty()) {
    return radio;
  }
  if (std::string named = names.model_type == "vision" ? named_type(reader, object.value) : std::string();
      !named.empty()) {
    return named;
  }
  if (find_tower(names.architecture) != nullptr) return names.architecture;
  return names.model_type.empty() ? std::string(place.type) : names.model_type;
}

// Under which name a tower's class defaults stand: its own type's, where that has a class, else its row's.
std::string_view class_of(std::string_view type, const Tower& tower) {
  // By a whole model's name a tower is its vision's, and the class of that name its text's (Qwen3-VL MoE).
  const bool is_whole = find_class_default(formatted("{}_vision", type), keys::kHidden.name()).has_value();
  return !is_whole && find_class_default(type, keys::kHidden.name()) ? type : tower.family.name;
}

void read_pyramid(ConfigReader& reader, ConfigScope& scope, const Tower& tower, const std::string& name, Plan& plan) {
  std::vector<StackFacts> stacks = read_stages(scope, tower, name, room_for_layers(plan));
  if (stacks.empty()) stacks.emplace_back();
  settle_stack(reader, name, stacks.front());
  for (StackFacts& one : stacks) add_stack(std::move(one), plan);
}

bool is_undecided(ConfigScope& scope, const Tower& tower) {
  if (tower.undecided_if == nullptr) return !tower.undecided.empty();
  return scope.flag(*tower.undecided_if).value.value_or(false);
}

void read_tower(ConfigReader& reader, const Place& object, std::string_view type, const Tower& tower,
                const std::string& name, Plan& plan) {
  ConfigScope scope(reader, object.value, tower.family, class_of(type, tower));
  if (tower.stages != nullptr) return read_pyramid(reader, scope, tower, name, plan);
  StackFacts stack = read_tower_stack(scope, tower, room_for_layers(plan));
  stack.name = name;
  for (std::string_view key : tower.family.undecided_keys) {
    const auto given = scope.look(key);
    if (!given) continue;
    reader.mark_read(*given);
    const bool is_false = given->value.kind() == io::JsonKind::boolean && !reader.boolean(*given).value_or(false);
    if (!is_false && !given->value.is_null()) warn_undecided(reader, object, type, formatted("what {} changes", key));
  }
  if (is_undecided(scope, tower)) warn_undecided(reader, object, type, tower.undecided);
  settle_stack(reader, name, stack);
  add_stack(std::move(stack), plan);
}

// Backbones that are convolutions throughout: of transformers by their types, of timm by the beginnings of their names.
constexpr Names kConvolutionTypes{
    "resnet rt_detr_resnet hgnet_v2 regnet bit convnext convnextv2 dinov3_convnext pp_lcnet textnet"};
constexpr std::string_view kConvolutionNames[] = {"resnet", "hgnet", "regnet", "efficientnet", "convnext"};

bool is_of_convolutions(std::string_view timm_name) {
  return std::ranges::any_of(kConvolutionNames, [&](std::string_view begin) { return timm_name.starts_with(begin); });
}

// What makes a detector's features of an image: nothing where it is convolutions.
void read_backbone(ConfigReader& reader, const Place& object, std::string_view detector, Plan& plan) {
  const auto place = reader.look(object.value, "backbone_config");
  const bool is_given = place && place->value.kind() == io::JsonKind::object;
  const std::string type = is_given ? read_class_names(reader, place->value).model_type : std::string();
  if (kConvolutionTypes.contains(type)) return reader.enter(place->value);
  const bool is_timm = type.empty() || type == "timm_backbone";
  if (!is_timm) return read_other_stack(reader, *place, {.object = "backbone_config", .name = "backbone"}, plan);
  const auto name = reader.look(is_given ? place->value : object.value, "backbone");
  if (name) reader.mark_read(*name);
  const bool is_named = name && name->value.kind() == io::JsonKind::string;
  const bool attends_by_default =
      Names("lw_detr rf_detr mask2former oneformer grounding-dino mm-grounding-dino").contains(detector);
  if (is_named ? is_of_convolutions(name->value.text()) : !is_given && !attends_by_default) return;
  warn_undecided(reader, is_given ? *place : object, type, "what its backbone's layers do");
  add_unread(reader, "backbone", plan);
}

void read_family_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, std::string_view type,
                       const Family& family, Plan& plan) {
  const FamilyObject of{.object = object.value,
                        .family = family,
                        .model_type = type,
                        .architecture = {},
                        .top_keys = place.top_keys,
                        .encoder_only = place.encoder_only,
                        .room = room_for_layers(plan)};
  std::vector<StackFacts> stacks = read_family_stacks(reader, of);
  for (StackFacts& one : stacks) {
    if (!place.name.empty()) {
      one.name = stacks.size() == 1 ? std::string(place.name) : formatted("{}_{}", place.name, one.name);
    }
    // What the wrapper's class gives it is its own, such as another stack's hidden states.
    if (one.fed_by == FedBy::tokens && place.name != "text") one.fed_by = FedBy::not_said;
    add_stack(std::move(one), plan);
  }
}

}  // namespace

void read_other_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, Plan& plan) {
  const std::string type = type_of(reader, object, place);
  if (const Tower* tower = find_tower(type); tower != nullptr && tower->is_unread) {
    warn_undecided(reader, object, type, tower->undecided);
    add_unread(reader, stack_name(place.object.empty() ? OtherPlace{.object = tower->stack} : place), plan);
  } else if (tower != nullptr) {
    read_tower(reader, object, type, *tower, std::string(place.name.empty() ? tower->stack : place.name), plan);
    if (tower->stages != nullptr) return;
    if (!tower->also.empty()) read_other_stack(reader, object, {.type = tower->also, .rule = TypeRule::fixed}, plan);
  } else if (const Convolutions* convolutions = find_convolutions(type)) {
    ConfigScope scope(reader, object.value, convolutions->family, convolutions->family.name);
    std::vector<StackFacts> stacks = read_convolution_stacks(scope, *convolutions, room_for_layers(plan));
    if (stacks.empty()) stacks.emplace_back();
    settle_stack(reader, convolutions->encoder, stacks.front());
    for (StackFacts& one : stacks) add_stack(std::move(one), plan);
  } else if (const Detector* detector = find_detector(type)) {
    if (has_backbone(*detector)) read_backbone(reader, object, type, plan);
    std::vector<StackFacts> stacks = read_detector(reader, object.value, type, *detector, room_for_layers(plan));
    if (stacks.empty()) stacks.emplace_back();
    settle_stack(reader, stacks.front().name, stacks.front());
    for (StackFacts& one : stacks) add_stack(std::move(one), plan);
  } else if (const ImageTokenizer* tokenizer = find_image_tokenizer(type)) {
    std::vector<StackFacts> stacks = read_image_tokenizer(reader, object.value, *tokenizer, room_for_layers(plan));
    if (stacks.empty()) stacks.emplace_back();
    settle_stack(reader, stacks.front().name.empty() ? "image_encoder" : stacks.front().name, stacks.front());
    for (StackFacts& one : stacks) add_stack(std::move(one), plan);
  } else if (const Family* family = find_family(type); family != nullptr && !place.name.empty()) {
    read_family_stack(reader, object, place, type, *family, plan);
  } else {
    warn_undecided(reader, object, type, "the whole stack, of a type that is not known here");
    add_unread(reader, stack_name(place), plan);
  }
}

void name_unread_stack(ConfigReader& reader, const Place& sign, const OtherPlace& place, Plan& plan) {
  reader.mark_read(sign);
  if (!place.is_name && !reader.integer(sign, {1, kMaxPosition})) return;
  // A number has no members either: the class fixes what there is to know.
  if (const Tower* tower = find_tower(place.type); tower != nullptr && place.rule == TypeRule::fixed) {
    return read_tower(reader, sign, place.type, *tower, std::string(tower->stack), plan);
  }
  if (place.is_name) {
    const auto name = reader.string(sign);
    if (!name) return;
    // A text has no members: what the name stands for is the row's defaults.
    const Tower* tower = find_tower(*name);
    if (tower != nullptr) {
      read_tower(reader, sign, *name, *tower, std::string(place.type), plan);
      const Tower* also = find_tower(tower->also);
      if (also != nullptr) read_tower(reader, sign, tower->also, *also, std::string(also->stack), plan);
      return;
    }
  }
  warn_undecided(reader, sign, place.type, "a stack of which the file says no more");
  add_unread(reader, std::string(place.type), plan);
}

void name_own_layers(ConfigReader& reader, const io::JsonValue& text, Plan& plan) {
  for (const std::string_view name : keys::kLayers.names) {
    const auto own = reader.look(reader.root(), name);
    if (!own || own->value.kind() != io::JsonKind::number) continue;
    const auto same = reader.look(text, name);
    if (same && same->value.text() == own->value.text()) continue;
    reader.undecided(formatted("{} counts layers of the wrapper's own: what they do is not known.", own->from),
                     {own->from});
    return add_unread(reader, "wrapper", plan);
  }
}

void name_absent_stack(ConfigReader& reader, const OtherPlace& place, Plan& plan) {
  const std::string key = formatted("/{}", place.object);
  reader.undecided(formatted("{} is not given: what stands there is not known.", key), {key});
  add_unread(reader, stack_name(place), plan);
}

}  // namespace posenc::plan
