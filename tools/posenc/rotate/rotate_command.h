// posenc rotate: queries and keys of a file, turned as a model's layer turns them.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_rotate(const RotateArguments& arguments);

}  // namespace posenc::tool
