// Which family's rules each object of a config follows (general ones where none is known); reads the text stack first.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/assemble/plan_of.h"
#include "plan/families/family.h"
#include "plan/families/tower.h"
#include "plan/read/config.h"
#include "plan/rope/scheme_choice.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;

void fail_no_object(ConfigReader& reader, const Place& place) {
  if (!place.value.is_null()) reader.fail(place, ErrorKind::type, "an object or null");
}

std::optional<Place> object_at(ConfigReader& reader, const JsonValue& parent, std::string_view key) {
  auto place = reader.look(parent, key);
  if (!place || place->value.kind() == JsonKind::object) return place;
  fail_no_object(reader, *place);
  return {};
}

// What stands at "a/b/c"; objects on the way are entered.
std::optional<Place> place_at(ConfigReader& reader, std::string_view path) {
  JsonValue parent = reader.root();
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    const auto next = object_at(reader, parent, path.substr(0, slash));
    if (!next) return {};
    reader.enter(next->value);
    parent = next->value;
    path.remove_prefix(slash + 1);
  }
  return reader.look(parent, path);
}

// ---- which class decides ----

// What is known of a file before its stacks are read.
struct Wrapper {
  ClassNames names;
  const Family* family = nullptr;  // of the root's own type
  const Layout* layout = nullptr;  // never null once chosen
  bool known = false;              // the root's type has a row
};

// Several classes may share a model type (DeepSeek-VL2's and DeepSeek-OCR's): then the class chooses.
const Layout* layout_of(const ClassNames& names) {
  const auto row = std::ranges::find_if(layouts(), [&](const Layout& layout) {
    return (layout.model_types.contains(names.model_type) || layout.also_types.contains(names.model_type)) &&
           is_class(layout.class_stems, names.architecture);
  });
  return row != layouts().end() ? &*row : find_layout(names.model_type);
}

bool has_any_object(ConfigReader& reader, const Layout& layout) {
  const auto has = [&](std::string_view path) {
    const auto place = place_at(reader, path);
    return place && place->value.kind() == JsonKind::object;
  };
  return std::ranges::any_of(layout.text.objects, has) || std::ranges::any_of(layout.others, has, &OtherPlace::object);
}

Wrapper choose_wrapper(ConfigReader& reader, const ClassNames& names) {
  Wrapper wrapper{.names = names};
  if (names.model_type.empty()) {
    wrapper.family = find_family_of_class(names.architecture);
    wrapper.layout = find_layout_of_class(names.architecture);
  } else {
    wrapper.family = find_family(names.model_type);
    wrapper.layout = layout_of(names);
    if (wrapper.layout != nullptr && wrapper.layout->or_tower && !has_any_object(reader, *wrapper.layout)) {
      wrapper.layout = nullptr;
    }
  }
  wrapper.known = wrapper.family != nullptr || wrapper.layout != nullptr;
  if (wrapper.layout == nullptr) wrapper.layout = &any_layout();
  return wrapper;
}

std::string family_name(const Wrapper& wrapper) {
  if (!wrapper.layout->family.empty()) return std::string(wrapper.layout->family);
  if (wrapper.family != nullptr) return std::string(wrapper.family->name);
  return wrapper.names.model_type.empty() ? wrapper.names.architecture : wrapper.names.model_type;
}

// The text stack's object, and the class that decides it.
struct TextClass {
  JsonValue object;
  bool is_inner = false;  // not the root
  ClassNames names;       // of the object; its model_type also where the wrapper's row says it
  bool says_type = true;  // the object, not the row
  const Family* family = nullptr;
  std::string other_class{};  // named by the file, and not of the family
};

std::optional<Place> text_object(ConfigReader& reader, const TextPlace& text) {
  for (std::string_view key : text.objects) {
    const auto place = place_at(reader, key);
    if (place && place->value.kind() == JsonKind::object) return place;
    if (place) fail_no_object(reader, *place);
  }
  return {};
}

TextClass choose_text(ConfigReader& reader, const Wrapper& wrapper) {
  const TextPlace& place = wrapper.layout->text;
  const auto inner = text_object(reader, place);
  TextClass text{.object = inner ? inner->value : reader.root(), .is_inner = inner.has_value(), .names = {}};
  text.names = inner ? read_class_names(reader, inner->value) : wrapper.names;
  const bool fixed = !place.type.empty() && (place.rule == TypeRule::fixed || !inner || text.names.model_type.empty());
  if (fixed) {
    text.says_type = false;
    text.names.model_type = place.type;
  }
  text.family = text.names.model_type.empty() ? find_family_of_class(text.names.architecture)
                                              : find_family(text.names.model_type);
  if (text.family != nullptr || !inner || wrapper.family == nullptr || !text.names.model_type.empty()) return text;
  text.says_type = false;
  text.names = wrapper.names;
  text.family = wrapper.family;
  return text;
}

// ---- what is odd about it ----

void warn_mismatch(ConfigReader& reader, std::string_view name, std::string_view family, std::string where) {
  reader.warn("architecture-mismatch",
              formatted("{} is not of the {} family, whose rules were followed.", name, family), {std::move(where)});
}

// Answers the class that is not of the family whose rules the text stack is read by; empty where there is none.
std::string warn_of_names(ConfigReader& reader, const Wrapper& wrapper, const TextClass& text) {
  std::string other;
  const std::string& outer = wrapper.names.architecture;
  const Names stems = wrapper.family != nullptr ? wrapper.family->class_stems : Names{};
  if (!outer.empty() && wrapper.known && !is_class(stems, outer) && !is_class(wrapper.layout->class_stems, outer)) {
    warn_mismatch(reader, outer, family_name(wrapper), "/architectures");
    other = outer;
  }
  if (!text.is_inner || text.family == nullptr || !text.says_type) return other;
  if (!text.names.architecture.empty() && !has_class(*text.family, text.names.architecture)) {
    warn_mismatch(reader, text.names.architecture, text.family->name, text.object.pointer() + "/architectures");
    other = text.names.architecture;
  }
  return other;
}

void warn_of_wrapper(ConfigReader& reader, const Wrapper& wrapper, const TextClass& text) {
  if (wrapper.known || !text.is_inner) return;
  reader.warn("unknown-wrapper",
              formatted("{} is not a family that is known here; each of its stacks was read by its own "
                        "type.",
                        family_name(wrapper)),
              {wrapper.names.model_type.empty() ? "/architectures" : "/model_type"});
}

// Names for messages, and where the name stands.
struct StackType {
  std::string text;
  std::vector<std::string> keys;
};

StackType type_name(const TextClass& text) {
  const std::string where = text.is_inner ? text.object.pointer() : std::string();
  if (!text.names.model_type.empty()) return {text.names.model_type, {where + "/model_type"}};
  if (!text.names.architecture.empty()) return {text.names.architecture, {where + "/architectures"}};
  return {"A model without model_type and architectures", {}};
}

void warn_unknown_family(ConfigReader& reader, const StackType& name, bool has_sizes) {
  const std::string_view consequence =
      has_sizes ? "its keys were read by themselves, halves paired, and may mean other things"
                : "its layers, heads and width are not given under known names; nothing was read";
  reader.warn("unknown-family", formatted("{} is not of a family that is known here: {}.", name.text, consequence),
              name.keys);
}

void warn_no_model_type(ConfigReader& reader, const ClassNames& names) {
  if (!names.model_type.empty() || names.architecture.empty()) return;
  reader.warn("no-model-type", formatted("The file has no model_type; {} decides.", names.architecture),
              {"/architectures"});
}

// Keys that the text decoder's object holds and the top repeats with another value.
void warn_of_repeated_keys(ConfigReader& reader, const JsonValue& text_config) {
  for (const JsonValue& member : text_config.items()) {
    const Place inner{member, member.pointer()};
    if (!reader.was_read(member)) continue;
    const auto outer = reader.look(reader.root(), member.key());
    if (outer && !reader.was_read(outer->value)) reader.settle(inner, *outer);
  }
}

// ---- the stacks ----

// What causal_attn: false and block_size make of the mask is written nowhere that this library could follow.
void read_causal_flag(ConfigScope& scope) {
  const Setting<bool> causal = scope.flag(keys::kCausalAttn);
  if (!causal.value || *causal.value) return;
  scope.reader().undecided(formatted("{} is false: what a token sees then is not known.", causal.from), {causal.from});
}

// What a class of transformers makes of a text whose keys stand beside its part, or of a part without all keys, is its
// own: the keys beside have no effect, and it has values that the text's class has not.
void leave_parts_open(ConfigReader& reader, const Wrapper& wrapper, const TextClass& text) {
  const WrapperText* row = find_wrapper_text(wrapper.names.model_type);
  if (row == nullptr) return;
  const auto has = [&](std::string_view key) { return reader.look(text.object, key).has_value(); };
  const auto gives = [&](const Key* key) { return std::ranges::any_of(key->names, has); };
  if (!text.is_inner) {
    if (row->takes_flat) return;
    if (std::ranges::any_of(std::array{&keys::kLayers, &keys::kHeads, &keys::kHidden}, gives)) {
      // Files of older versions have them there, which is what their checkpoints need.
      reader.warn("text-beside-part",
                  formatted("The keys of the text stand beside {}, where transformers' class of {} does not look.",
                            row->part, wrapper.names.model_type),
                  {});
    } else if (!row->own_keys.empty()) {
      reader.undecided(formatted("{} is not given: the class of {} has values of its own for it.", row->part,
                                 wrapper.names.model_type),
                       {});
    }
    return;
  }
  if (const std::string pointer = text.object.pointer(); pointer != "/" + std::string(row->part) &&
                                                         !pointer.starts_with("/" + std::string(row->part) + "/")) {
    reader.warn("text-beside-part",
                formatted("The keys of the text stand in {}, where transformers' class of {} does not look: it has {}.",
                          pointer, wrapper.names.model_type, row->part),
                {pointer});
  }
  if (!row->fills_part) return;
  for (std::string_view key : row->own_keys) {
    if (has(key) || (key == "rope_theta" && (has("rope_parameters") || has("rope_scaling")))) continue;
    reader.undecided(formatted("{}/{} is not given: the class of {} has a value of its own for it.",
                               text.object.pointer(), key, wrapper.names.model_type),
                     {});
  }
}

void read_text_class(ConfigReader& reader, const Wrapper& wrapper, const TextClass& text, const Family& of_text,
                     Plan& plan) {
  // Where the wrapper makes a prefix of image and prompt, the text's own switch is not read (PaliGemma writes it
  // there).
  Family family = of_text;
  if (text.is_inner && wrapper.layout->image.kind == MaskKind::prefix) {
    family.reads_bidirectional = false;
    family.undecided_keys = {};  // Gemma's is the same switch
  }
  const bool by_class = text.names.model_type.empty() && !family.model_types.empty();
  const std::string model_type = by_class ? std::string(family.model_types.front()) : text.names.model_type;
  const FamilyObject of{.object = text.object,
                        .family = family,
                        .model_type = model_type,
                        .architecture = text.names.architecture,
                        .top_keys = text.is_inner ? wrapper.layout->text.top_keys : Names{}};
  std::vector<StackFacts> stacks = read_family_stacks(reader, of);
  if (reader.failed()) return;
  // Of a wrapper that is not known nobody can say what its top-level keys are for.
  if (text.is_inner && wrapper.known) warn_of_repeated_keys(reader, text.object);
  ConfigScope scope(reader, text.object, family, model_type);
  read_causal_flag(scope);
  leave_parts_open(reader, wrapper, text);
  if (!text.other_class.empty()) leave_unread_keys_open(reader, text.object, text.other_class, stacks.front());
  std::ranges::move(reader.take_undecided(), std::back_inserter(stacks.front().unknown));
  set_trained_length(stacks.front().trained_length, plan);
  if (const std::string_view own = wrapper.layout->text.name; !own.empty()) stacks.front().name = own;
  for (StackFacts& stack : stacks) add_stack(std::move(stack), plan);
}

// The rules for a family that is not known here: what its keys say by themselves.
//
//   sizes under any of their names; a base means a rotation of the whole head or of the given part, halves paired;
//   else n_positions or position_embedding_type "absolute" mean a learned table; else no stage is claimed.
// A plan that was read so is never known. `name` must outlive the row.
Family general_family(std::string_view name) noexcept {
  return {.name = name,
          .model_types = {},
          .class_stems = {},
          .pairing = Pairing::half,
          .width = Width::factor_or_dim,
          .scheme = scheme_by_keys,
          .misleading_keys = "offset_alibi learned_pos_emb",
          .needs_length = false};
}

void read_unknown_text(ConfigReader& reader, const Wrapper& wrapper, const TextClass& text, Plan& plan) {
  const StackType name = type_name(text);
  const bool readable = has_sizes(reader, text.object);
  warn_unknown_family(reader, name, readable);
  if (!readable) {
    plan.known = false;
    return;
  }
  reader.leave_open(
      formatted("{}: a family that is not known here; what its keys say is not what its class does", name.text));
  read_text_class(reader, wrapper, text, general_family(name.text), plan);
}

bool has_stack(const Plan& plan, std::string_view name) {
  return std::ranges::any_of(plan.stacks, [&](const Stack& stack) { return stack.name == name; });
}

// Whether the top has no such flag, or a false one.
bool is_off(ConfigReader& reader, std::string_view flag) {
  if (flag.empty()) return false;
  const auto place = reader.look(reader.root(), flag);
  if (!place) return true;
  reader.mark_read(*place);
  return !reader.boolean(*place).value_or(false);
}

void read_others(ConfigReader& reader, const Layout& layout, Plan& plan) {
  for (const OtherPlace& other : layout.others) {
    if (is_off(reader, other.needs)) continue;
    const std::optional<Place> place =
        other.object.empty() ? Place{reader.root(), std::string()} : place_at(reader, other.object);
    if (!place || reader.failed()) continue;
    if (place->value.kind() == JsonKind::object) {
      read_other_stack(reader, *place, other, plan);
    } else if (!other.is_sign) {
      fail_no_object(reader, *place);
    } else if (!place->value.is_null() && !has_stack(plan, other.type)) {
      name_unread_stack(reader, *place, other, plan);
    }
  }
}

// A file of a vision or audio encoder alone: the root is the object of its keys.
bool read_lone_tower(ConfigReader& reader, const Wrapper& wrapper, const TextClass& text, Plan& plan) {
  if (wrapper.known || text.is_inner || text.family != nullptr) return false;
  const Tower* tower = find_tower(wrapper.names.model_type);
  const bool has_convolutions = find_convolutions(wrapper.names.model_type) != nullptr ||
                                find_image_tokenizer(wrapper.names.model_type) != nullptr ||
                                find_detector(wrapper.names.model_type) != nullptr;
  if (tower == nullptr && !has_convolutions) return false;
  plan.family = tower != nullptr ? std::string(tower->family.name) : wrapper.names.model_type;
  read_other_stack(reader, Place{reader.root(), std::string()}, {.object = {}, .type = wrapper.names.model_type}, plan);
  return true;
}

// A backbone may be given by a name alone, whose configuration is elsewhere.
void read_without_text(ConfigReader& reader, const Layout& layout, Plan& plan) {
  read_others(reader, layout, plan);
  if (plan.stacks.empty()) name_absent_stack(reader, *layout.others.begin(), plan);
}

// Florence-2. What the file leaves out is the class's.
void add_image_table(ConfigReader& reader, const ImageTable& table, Plan& plan) {
  const auto stack = std::ranges::find(plan.stacks, table.stack, &Stack::name);
  if (table.rows.empty() || stack == plan.stacks.end()) return;
  const auto at = [&](std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const auto object = place_at(reader, path.substr(0, slash));
    if (!object || object->value.kind() != JsonKind::object) return std::optional<Place>();
    reader.enter(object->value);
    return reader.look(object->value, path.substr(slash + 1));
  };
  const auto rows = at(table.rows);
  const auto widths = at(table.width);
  const auto listed = widths ? reader.list(*widths) : std::nullopt;
  if (!rows || !listed || listed->empty()) {
    if (!reader.failed()) name_absent_stack(reader, {.object = table.rows}, plan);
    return;
  }
  const std::int64_t count = reader.integer(*rows, {1, kMaxPosition}).value_or(1);
  const std::int64_t width =
      reader.integer({listed->back(), listed->back().pointer()}, {2, kMaxHiddenSize}).value_or(2);
  if (reader.failed()) return;
  AxialInput both{.shape = {count, count}, .combine = AxialCombine::concatenate, .tokens = "patches"};
  both.dims = {width - width / 2, width / 2};  // columns, then rows
  const auto place = formatted("/stacks/{}/input/{}", stack - plan.stacks.begin(), stack->input.size());
  plan.sources.push_back({place + "/shape", rows->from});
  plan.sources.push_back({place + "/dims", widths->from});
  stack->input.emplace_back(std::move(both));
}

void note_text_mask(std::string_view sees, Plan& plan) {
  if (sees.empty() || plan.stacks.empty()) return;
  for (LayerPlan& layer : plan.stacks.front().layers) {
    if (layer.kind == LayerKind::attention)
      layer.mask = {.kind = MaskKind::sparse, .detail = std::string(sees), .beyond_window = true};
  }
}

void note_image_mask(const ImageMask& image, Plan& plan) {
  const auto sees = [](const Stack& stack) { return stack.name == "vision"; };
  if (image.detail.text.empty() || plan.stacks.empty() || std::ranges::none_of(plan.stacks, sees)) return;
  for (LayerPlan& layer : plan.stacks.front().layers) {
    if (layer.kind != LayerKind::attention || layer.mask.kind != MaskKind::causal) continue;
    layer.mask.kind = image.kind;
    layer.mask.detail = image.detail.text;
    set_sees(image.detail.sees, layer.mask);
  }
}

}  // namespace

void read_stacks(ConfigReader& reader, const ClassNames& names, Plan& plan) {
  const Wrapper wrapper = choose_wrapper(reader, names);
  TextClass text = choose_text(reader, wrapper);
  plan.family = family_name(wrapper);
  plan.known = true;
  warn_of_wrapper(reader, wrapper, text);
  text.other_class = warn_of_names(reader, wrapper, text);
  warn_no_model_type(reader, wrapper.names);
  if (wrapper.layout->text.absent) return read_without_text(reader, *wrapper.layout, plan);
  if (read_lone_tower(reader, wrapper, text, plan)) return;
  if (text.family != nullptr) {
    read_text_class(reader, wrapper, text, *text.family, plan);
  } else {
    read_unknown_text(reader, wrapper, text, plan);
  }
  read_others(reader, *wrapper.layout, plan);
  if (wrapper.layout == &any_layout()) name_unread_objects(reader, plan);
  if (!wrapper.known && text.is_inner) name_own_layers(reader, text.object, plan);
  if (!reader.failed()) add_image_table(reader, wrapper.layout->image_table, plan);
  note_text_mask(wrapper.layout->text.sees, plan);
  note_image_mask(wrapper.layout->image, plan);
}

}  // namespace posenc::plan
