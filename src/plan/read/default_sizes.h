// A file that says which class a model is of and nothing of its size.
#pragma once

#include <span>

#include "plan/scope/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {

// A warning where layers, heads and head_dim of all stacks are defaults: the plan is then one of the class, and may be
// of no model at all.
void warn_of_default_sizes(ConfigReader& reader, std::span<const ValueSource> sources);

}  // namespace posenc::plan
