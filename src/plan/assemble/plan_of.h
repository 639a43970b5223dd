// From facts to the plan: the only place that makes stacks of a plan and the places that its sources name.
#pragma once

#include <cstdint>

#include "plan/facts/sourced.h"
#include "plan/facts/stack_facts.h"
#include "posenc/plan.h"

namespace posenc::plan {

// The length that the model was trained for; 0 where nothing says it.
void set_trained_length(const Sourced<std::int64_t>& length, Plan& plan);

void add_stack(StackFacts facts, Plan& plan);

}  // namespace posenc::plan
