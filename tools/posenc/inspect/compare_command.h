// posenc compare A B.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_compare(const CompareArguments& arguments);

}  // namespace posenc::tool
