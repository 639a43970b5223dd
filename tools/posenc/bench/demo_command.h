// posenc demo: a built-in model, its exact angle tables' worst error, and how fast they are made; measured here, now.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// 0; 1 where an error of a table, of RoPE or of attention is above its bound; 3 where standard output is gone. Throws
// UsageError for a name that is no preset's, and for a preset without RoPE.
int run_demo(const DemoArguments& arguments);

}  // namespace posenc::tool
