// The stacks of a config: whose rules hold for each of its objects, and their plans, the text decoder's first.
#pragma once

#include "plan/scope/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Fills in the family, the stacks, their sources and the trained length. `names` are those of the file's root.
void read_stacks(ConfigReader& reader, const ClassNames& names, Plan& plan);

}  // namespace posenc::plan
