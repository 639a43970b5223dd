// A stack that reads text, decoder or encoder: every layer's plan, from one object of the config.
#pragma once

#include <vector>

#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct TextStack {
  Stack stack;
  std::vector<ValueSource> sources;
  Sourced<std::int64_t> trained_length;  // 0: the file does not say
  bool known = true;                     // false: a warning names what could not be decided
};

// `prefix` is the stack's place in the plan: "/stacks/0". After an error (scope.reader().failed()) the rest is void.
TextStack read_text_stack(ConfigScope& scope, std::string_view prefix);

}  // namespace posenc::plan
