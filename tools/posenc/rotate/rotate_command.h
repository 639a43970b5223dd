// posenc rotate: a model layer's RoPE, applied to queries and keys of a file.
// Reads q, k or both, rotates them in memory, with --check compares a sample with the float64 reference, writes the
// result to one file and reports on standard output.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code: 0, or 3 where the report cannot be printed. What ends it early is thrown, and nothing is written then:
// UsageError (2), or Failure (1: above the bound of --check; 3, 4).
int run_rotate(const RotateArguments& arguments);

}  // namespace posenc::tool
