// The stacks of a config: whose rules hold for each of its objects, and their plans, the text decoder's first.
#pragma once

#include <string>

#include "plan/read/config_reader.h"
#include "posenc/plan.h"

namespace posenc::plan {

// What an object says that it is.
struct ClassNames {
  std::string model_type;
  std::string architecture;  // the first of architectures
};

ClassNames read_class_names(ConfigReader& reader, const io::JsonValue& object);

// Fills in the family, the stacks, their sources and the trained length. `names` are those of the file's root.
void read_stacks(ConfigReader& reader, const ClassNames& names, Plan& plan);

}  // namespace posenc::plan
