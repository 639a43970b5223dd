// posenc bench: speeds on this machine, against its limits.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// Both return the exit code: 0, or 3 where the report cannot be printed. No speed is judged.
int run_bench_rotate(const BenchRotateArguments& arguments);  // the rotation of queries and keys
int run_bench_attend(const BenchAttendArguments& arguments);  // attention

}  // namespace posenc::tool
