// `posenc attend`: a model layer's attention over queries, keys and values of files.
// Reads q, k, v and the layer's learned tables, attends, with --check compares a sample with the float64 reference,
// writes out (and lse) to one file and reports on standard output.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code: 0, or 3 where the report cannot be printed. What ends it early is thrown, and nothing is written then:
// UsageError (2), or Failure (1: above the bound of --check; 3, 4).
int run_attend(const AttendArguments& arguments);

}  // namespace posenc::tool
