// The stacks of a GGUF file's model: every layer's plan, from what the file and its architecture say.
#pragma once

#include "plan/gguf/factors.h"
#include "plan/gguf/scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Adds to plan.stacks and plan.sources, sets plan.trained_length. After an error (scope.failed()) the rest is void.
void read_gguf_stacks(GgufScope& scope, const GgufFactors& factors, Plan& plan);

}  // namespace posenc::plan
