// `posenc attend`: queries, keys and values of files, attended as a model's layer attends.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_attend(const AttendArguments& arguments);

}  // namespace posenc::tool
