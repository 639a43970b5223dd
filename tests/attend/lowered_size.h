// How large the numbers are that a score of a lowered layer is made of, and how often they are rounded on the way.
#pragma once

#include <cstdint>
#include <span>

#include "attend/scheme_call.h"
#include "math/primitives.h"

namespace posenc::test {

struct ScoreSize {
  double size = 0.0;       // at most the sum of the magnitudes that are added up
  double roundings = 0.0;  // of that, in either way
};

// Of one row of q, [head_dim], and the keys that it may see. `turned`: roundings of a product whose two sides turn.
ScoreSize score_size(const math::Lowered& lowered, const SchemeCall& call, std::size_t q_row, double turned);

struct Values {
  double largest;
  double half_range;  // of a channel
  double error;       // of turned values, in roundings of the largest
};

// Of channel c of the values that a row of q may see, with what the value stage adds.
Values values_of(const math::Lowered& lowered, const SchemeCall& call, std::size_t q_row, std::size_t c, double turned);

// The largest, in magnitude.
double largest(std::span<const double> x);
// The greatest length of a row of so many.
double longest(std::span<const double> x, std::int64_t channels);

}  // namespace posenc::test
