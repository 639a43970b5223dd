// What must hold of every plan, whatever it was read from.
#pragma once

#include "posenc/plan.h"

namespace posenc::fuzz {

void must_describe(const Plan& plan);          // describe() says something that is safe to print
void must_have_frequencies(const Plan& plan);  // at its length: finite, not negative, one per pair
void must_round_trip(const Plan& plan);        // through its JSON, when that is not large

}  // namespace posenc::fuzz
