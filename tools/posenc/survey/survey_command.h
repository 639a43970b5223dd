// posenc survey: the plans of a list of models, a line of JSON each.
#pragma once

#include "line/command_line.h"

namespace posenc::tool {

// 0 when every model of the list has its line, a plan or an error. Throws Failure: 3 where the list cannot be read or
// the output written, 4 for a list, or lines that are there, which are not what they should be.
int run_survey(const SurveyArguments& arguments);

}  // namespace posenc::tool
