// What rotate and attend have in common on the command line (LayerJob).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "line/command_spec.h"

namespace posenc::tool {

// --model and --layer, then a command's own options, then the others that every job has. `verb`: what layers do.
std::vector<OptionSpec> job_options(std::string_view verb, std::vector<OptionSpec> own);

// `two`: the tensors that the output holds, "q and k", of which a .npy file holds one; empty where it is one.
LayerJob job_given(const Given& given, std::string_view two);

}  // namespace posenc::tool
