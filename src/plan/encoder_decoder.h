// The stacks that a family's class builds from one object: a decoder, an encoder, or both.
#pragma once

#include <string_view>
#include <vector>

#include "plan/config_reader.h"
#include "plan/family.h"
#include "plan/text_stack.h"

namespace posenc::plan {

struct FamilyObject {
  const io::JsonValue& object;
  const Family& family;
  std::string_view model_type;    // whose class defaults hold
  std::string_view architecture;  // may be empty
  Names top_keys{};               // ConfigScope::read_at_top
};

// The main stack first, as "/stacks/0". An architecture that has the encoder only makes that the main one.
std::vector<TextStack> read_family_stacks(ConfigReader& reader, const FamilyObject& of);

}  // namespace posenc::plan
