// Stacks beside the text decoder: vision and audio encoders, tokenizers.
#pragma once

#include "plan/config_layouts.h"
#include "plan/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Adds the stacks that `object` describes to the plan's. A fact that is not decided is a warning, and plan.known false.
void read_other_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, Plan& plan);

}  // namespace posenc::plan
