// One call of attention computed two ways, in double: how far apart the results are, and how far they may be.
#pragma once

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

// Of the values that a row of q may see, with what the value stage adds, in channel c.
struct ValueSize {
  double largest;
  double half_range;
  double error;  // of a value that is made two ways
};
ValueSize value_size(const math::Lowered& lowered, const SchemeCall& call, std::size_t q_row, std::size_t c);

}  // namespace posenc::test
