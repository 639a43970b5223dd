// posenc inspect: a plan, for people or as JSON.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// 0; 1 with --strict, after the output, where the plan has warnings or facts that could not be decided; 3 where the
// output cannot be written. Throws UsageError (2) for a stack or layer that is not there, Failure (3, 4) for a file.
int run_inspect(const InspectArguments& arguments);

}  // namespace posenc::tool
