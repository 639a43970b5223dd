// One rule for numbers: a plan that a reader accepts is one that all that comes after can use.
#pragma once

#include <string>

#include "posenc/plan.h"

namespace posenc::test {

// Empty where all of these hold; else which does not.
//
//   its JSON can be written, holds finite numbers alone, in float too, and reads back as the same plan
//   it is the same as itself to compare()
//   each rotation has frequencies at the plan's length, and a table
//   attend() refuses no layer for its numbers, of those whose learned tables need not be known: without score terms
//   but ALiBi, without Shaw's values
std::string unusable(const Plan& plan);

}  // namespace posenc::test
