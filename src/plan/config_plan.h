// From the text of a config.json to the plan.
#pragma once

#include <string_view>

#include "posenc/error.h"
#include "posenc/plan.h"
#include "posenc/read_plan.h"

namespace posenc::plan {

// `source.name` stands for the file in errors. Throws Error for a length below 1, and nothing else.
Result<Plan> read_config(std::string_view text, PlanSource source, const ReadOptions& options);

}  // namespace posenc::plan
