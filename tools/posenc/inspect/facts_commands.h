// posenc info and posenc presets: facts that need no file.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// Both return the exit code: 0, or 3 where the output cannot be written.
int run_info(const InfoArguments& arguments);
int run_presets(const PresetsArguments& arguments);

}  // namespace posenc::tool
