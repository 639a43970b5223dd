// posenc diagnose --weights: in which order a checkpoint's q and k projections have their channels.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_diagnose_weights(const DiagnoseArguments& arguments);

}  // namespace posenc::tool
