// Which stacks a class builds from one object (decoder, encoder, both, more), by its family's row and its architecture.
#include <algorithm>

#include "plan/layers/layers.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

StackFacts read_one(ConfigReader& reader, const FamilyObject& of, const StackRule& stack, std::int64_t most_layers) {
  ConfigScope scope(reader, of.object, of.family, of.model_type, stack);
  scope.read_at_top(of.top_keys);
  if (of.room > 0) scope.required_integer(keys::kLayers, {1, most_layers});
  return read_text_stack(scope);
}

bool is_among(Names classes, std::string_view architecture) {
  return std::ranges::find(classes, architecture) != classes.end();
}

std::vector<const StackRule*> rules_of(const FamilyObject& of) {
  const Family& family = of.family;
  if (family.encoder != nullptr && (of.encoder_only || is_among(family.encoder_classes, of.architecture))) {
    return {family.encoder};
  }
  for (const ClassStacks& row : family.class_stacks) {
    if (is_among(row.classes, of.architecture)) return {row.stacks.begin(), row.stacks.end()};
  }
  std::vector<const StackRule*> rules{&family.main};
  if (family.encoder != nullptr) rules.push_back(family.encoder);
  rules.insert(rules.end(), family.more_stacks.begin(), family.more_stacks.end());
  return rules;
}

bool is_present(ConfigReader& reader, const FamilyObject& of, const StackRule& stack) {
  if (stack.present_if == nullptr) return true;
  ConfigScope scope(reader, of.object, of.family, of.model_type, stack);
  return scope.flag(*stack.present_if).value.value_or(false);
}

}  // namespace

std::vector<StackFacts> read_family_stacks(ConfigReader& reader, const FamilyObject& of) {
  std::vector<StackFacts> stacks;
  const std::vector<const StackRule*> rules = rules_of(of);
  const std::int64_t most_layers = std::max<std::int64_t>(of.room / (2 * std::ssize(rules)), 1);
  for (const StackRule* rule : rules) {
    if (reader.failed()) break;
    if (!is_present(reader, of, *rule)) continue;
    stacks.push_back(read_one(reader, of, *rule, most_layers));
  }
  return stacks;
}

}  // namespace posenc::plan
