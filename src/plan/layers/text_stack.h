// A stack that reads text, decoder or encoder: its facts, from one object of the config.
#pragma once

#include "plan/facts/stack_facts.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// After an error (scope.reader().failed()) the result is void.
StackFacts read_text_stack(ConfigScope& scope);

}  // namespace posenc::plan
