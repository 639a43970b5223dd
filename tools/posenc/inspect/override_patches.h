// posenc inspect --set ... --patch: how others are told what --set says.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_override_patches(const InspectArguments& arguments);

}  // namespace posenc::tool
