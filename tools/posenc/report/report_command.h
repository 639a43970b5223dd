// posenc report: what models do with positions, as a page to look at.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// The exit code. What ends it early is thrown: UsageError (2), or Failure (3, 4).
int run_report(const ReportArguments& arguments);

}  // namespace posenc::tool
