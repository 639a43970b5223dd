// From the text of a config.json to the plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "posenc/error.h"
#include "posenc/plan.h"
#include "posenc/read_plan.h"

namespace posenc::plan {

// Throws Error for a length below 1.
void require_length(const ReadOptions& options);

// `source.name` stands for the file in errors. Nothing is thrown.
Result<Plan> read_config(std::string_view text, PlanSource source, const ReadOptions& options);

// The error for bytes that are no JSON because they are clearly something else; its name says more than a position, or
// than a size.
std::optional<FileError> foreign_format(std::string_view bytes, const std::string& file);

}  // namespace posenc::plan
