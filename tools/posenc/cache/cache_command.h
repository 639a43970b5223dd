// posenc cache: how large a model's KV cache is, what may be done with it, and what shifting it leaves.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code. What ends it early is thrown: UsageError (2), or Failure (3, 4).
int run_cache(const CacheArguments& arguments);

}  // namespace posenc::tool
