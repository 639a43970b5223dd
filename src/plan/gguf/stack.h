// The stacks of a GGUF file's model: their facts, as the file and its architecture say them.
#pragma once

#include <vector>

#include "plan/facts/stack_facts.h"
#include "plan/gguf/factors.h"
#include "plan/gguf/scope.h"

namespace posenc::plan {

// The main stack first. After an error (scope.failed()) the result is void.
std::vector<StackFacts> read_gguf_stacks(GgufScope& scope, const GgufFactors& factors);

}  // namespace posenc::plan
