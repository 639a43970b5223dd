// One rule for numbers: what a plan says is finite, in float too, and can be used by make_table and attend. Readers
// check each number that they read where it stands; here is what is computed from several.
#pragma once

#include <optional>

#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::plan {

// The first such number that cannot be used: a softmax scale, a base or a frequency at the plan's length that float
// does not hold. The error has the plan's file, and as its path where the number came from.
std::optional<FileError> unusable_number(const Plan& plan);

}  // namespace posenc::plan
