// posenc info and posenc presets: facts that need no file.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_info(const InfoArguments& arguments);
int run_presets(const PresetsArguments& arguments);

}  // namespace posenc::tool
