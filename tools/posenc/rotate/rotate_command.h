// posenc rotate: a model layer's RoPE, applied to queries and keys of a file.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_rotate(const RotateArguments& arguments);

}  // namespace posenc::tool
