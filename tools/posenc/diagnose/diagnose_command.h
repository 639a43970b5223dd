// posenc diagnose: what somebody's rotation did to queries or keys, against what a model's plan says.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code: 0 where the tensors are as the plan says (or, without a model, where they are explained), 1 where they
// differ, 7 where they cannot tell. What ends it early is thrown: UsageError (2), or Failure (3, 4).
int run_diagnose(const DiagnoseArguments& arguments);

}  // namespace posenc::tool
