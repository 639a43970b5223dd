// One call of attention computed two ways, in double: how far apart the results are, and how far they may be.
#pragma once

#include "attend/lowered_size.h"
#include "attend/scheme_call.h"
#include "math/primitives.h"

namespace posenc::test {

// The largest differences of two results, over their bounds (tolerances.h, Attention by formulas and by primitives):
// above 1 they are not the same.
struct Apartness {
  double out = 0.0;
  double lse = 0.0;
  double of_values = 0.0;  // of outputs, over the largest value that may be seen
};

// `lowered`: the call's, which says how large the numbers are that its scores are made of. `more_roundings`: of a
// score, in either way, than the lowering and the formulas have.
Apartness apartness(const SchemeCall& call, const math::Lowered& lowered, const SchemeCall::Result& is,
                    const SchemeCall::Result& wanted, double more_roundings = 0.0);

// How far values may be apart that are rotated two ways, both in double.
double value_error(const Values& values);

}  // namespace posenc::test
