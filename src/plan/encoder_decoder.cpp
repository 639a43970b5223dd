#include "plan/encoder_decoder.h"

#include <algorithm>

#include "plan/config_scope.h"

namespace posenc::plan {
namespace {

TextStack read_one(ConfigReader& reader, const FamilyObject& of, const StackRule& stack, std::string_view prefix) {
  ConfigScope scope(reader, of.object, of.family, of.model_type, stack);
  scope.read_at_top(of.top_keys);
  return read_text_stack(scope, prefix);
}

}  // namespace

std::vector<TextStack> read_family_stacks(ConfigReader& reader, const FamilyObject& of) {
  const Names encoders = of.family.encoder_classes;
  const bool encoder_only = std::ranges::find(encoders, of.architecture) != encoders.end();
  std::vector<TextStack> stacks;
  stacks.push_back(read_one(reader, of, encoder_only ? *of.family.encoder : of.family.main, "/stacks/0"));
  if (of.family.encoder != nullptr && !encoder_only && !reader.failed()) {
    stacks.push_back(read_one(reader, of, *of.family.encoder, "/stacks/1"));
  }
  return stacks;
}

}  // namespace posenc::plan
