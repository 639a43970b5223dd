// The stacks that a family's class builds from one object: a decoder, an encoder, or both.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/facts/stack_facts.h"
#include "plan/families/family.h"
#include "plan/scope/config_reader.h"

namespace posenc::plan {

struct FamilyObject {
  const io::JsonValue& object;
  const Family& family;
  std::string_view model_type;    // whose class defaults hold
  std::string_view architecture;  // may be empty
  Names top_keys{};               // ConfigScope::read_at_top
  bool encoder_only = false;      // whatever the architecture
  std::int64_t room = 0;          // layers, both attentions of a block counted, of all its stacks; 0: as always
};

// The main stack first. An architecture that has the encoder only makes that the main one.
std::vector<StackFacts> read_family_stacks(ConfigReader& reader, const FamilyObject& of);

}  // namespace posenc::plan
