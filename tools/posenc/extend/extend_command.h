// posenc extend: can this model go to a longer context, and how.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code. What ends it early is thrown: UsageError (2), or Failure (3, 4).
int run_extend(const ExtendArguments& arguments);

}  // namespace posenc::tool
