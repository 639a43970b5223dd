// posenc convert: a checkpoint's q and k projections from one pairing to the other.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code. What ends it early is thrown: UsageError (2), or Failure (3, 4).
int run_convert(const ConvertArguments& arguments);

}  // namespace posenc::tool
