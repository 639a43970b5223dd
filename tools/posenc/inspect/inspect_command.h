// posenc inspect: a plan, for people or as JSON.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_inspect(const InspectArguments& arguments);

}  // namespace posenc::tool
