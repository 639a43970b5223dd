// Stacks beside the text decoder: vision and audio encoders, tokenizers.
#pragma once

#include "plan/families/config_layouts.h"
#include "plan/scope/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Adds the stacks that `object` describes to the plan's. A fact that is not decided is a warning, and plan.known false.
void read_other_stack(ConfigReader& reader, const Place& object, const OtherPlace& place, Plan& plan);

// For a key without an object that says that there is a stack: one without layers, named by the place's type.
void name_unread_stack(ConfigReader& reader, const Place& sign, const OtherPlace& place, Plan& plan);

}  // namespace posenc::plan
