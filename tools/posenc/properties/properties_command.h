// posenc properties: what schemes are good for, measured.
// The numbers are the library's (posenc/properties.h), defined in docs/properties.md; here they become tables and JSON.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// Writes to standard output, all at once when everything is measured. Returns the exit code.
int run_properties(const PropertiesArguments& arguments);

}  // namespace posenc::tool
