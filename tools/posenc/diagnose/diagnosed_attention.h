// posenc diagnose --q --k: what a port's attention did, against a layer of a model.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_diagnose_attention(const DiagnoseArguments& arguments);

}  // namespace posenc::tool
