// posenc plot KIND: a picture as SVG, or its numbers as JSON.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

int run_plot(const PlotArguments& arguments);

}  // namespace posenc::tool
