// `posenc attend`: a model layer's attention over queries, keys and values of files.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_attend(const AttendArguments& arguments);

}  // namespace posenc::tool
