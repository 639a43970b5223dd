// A model in one line: what its layers have in common, and each thing in which they differ once.
#pragma once

#include <string>
#include <vector>

#include "posenc/plan.h"

namespace posenc::tool {

// "half", or "half interleaved": each different answer of the plan's rotations once, in order; "-" of a model without
// RoPE. Indexers are left out.
std::string different_of_ropes(const Plan& plan, std::string (*text)(const Rope& rope));
std::string short_base(double base);        // 1e4, 1.5e6: bases in one form, so that two of them fit a column
std::string layers_text(const Plan& plan);  // "12", or "12+12": of each stack

// The page of posenc inspect --brief: a head, then a line for each plan, however long: nothing is cut, so that a
// line can be searched.
std::string brief_text(const std::vector<Plan>& plans);
// The same as JSON: {"schema_version", "models"}.
std::string brief_json(const std::vector<Plan>& plans);

}  // namespace posenc::tool
