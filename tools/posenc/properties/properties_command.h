// posenc properties: what schemes are good for, measured.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_properties(const PropertiesArguments& arguments);

}  // namespace posenc::tool
