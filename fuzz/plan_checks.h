// What must hold of every plan, whatever it was read from.
#pragma once

#include "posenc/plan.h"

namespace posenc::fuzz {

void must_describe(const Plan& plan);          // describe() says something that is safe to print
void must_have_frequencies(const Plan& plan);  // at its length: finite, not negative, one per pair
void must_be_usable(const Plan& plan);         // by its JSON, compare, make_table and attend, when it is not large

}  // namespace posenc::fuzz
