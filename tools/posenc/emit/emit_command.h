// posenc emit: what a layer does with positions, as code in one of several languages.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code. What ends it early is thrown: UsageError (2), or Failure (3, 4).
int run_emit(const EmitArguments& arguments);

}  // namespace posenc::tool
