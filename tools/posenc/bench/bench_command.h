// posenc bench: speeds on this machine, against its limits.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_bench_rotate(const BenchRotateArguments& arguments);  // the rotation of queries and keys
int run_bench_attend(const BenchAttendArguments& arguments);  // attention

}  // namespace posenc::tool
