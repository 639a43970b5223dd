// posenc demo: a built-in model, its exact angle tables' worst error, and how fast they are made; measured here, now.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_demo(const DemoArguments& arguments);

}  // namespace posenc::tool
