// Which facts of two plans, two stacks or two kinds of layer differ, and which of the differences are of substance.
#pragma once

#include <vector>

#include "plan/compare/pairs.h"
#include "plan/compare/rotations.h"
#include "posenc/compare.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Without where they are: layers, where_a and where_b are left empty. What == tells apart always gives a difference.
std::vector<Difference> layer_differences(const LayerPlan* a, const LayerPlan* b, const CompareScope& scope);
std::vector<Difference> stack_differences(const StackPair& stacks);
std::vector<Difference> plan_differences(const Plan& a, const Plan& b);

}  // namespace posenc::plan
