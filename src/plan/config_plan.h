// From the text of a config.json to the plan.
#pragma once

#include <string_view>

#include "posenc/error.h"
#include "posenc/plan.h"
#include "posenc/read_plan.h"

namespace posenc::plan {

// Throws Error for a length below 1.
void require_length(const ReadOptions& options);

// `source.name` stands for the file in errors. Nothing is thrown.
Result<Plan> read_config(std::string_view text, PlanSource source, const ReadOptions& options);

}  // namespace posenc::plan
