// How large the numbers are that a score of a lowered layer is made of, and how often they are rounded on the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/scheme_call.h"
#include "math/primitives.h"

namespace posenc::test {

struct ScoreSize {
  double size = 0.0;       // at most the sum of the magnitudes that are added up
  double roundings = 0.0;  // of that, in either way
};

struct Values {
  double largest;
  double half_range;  // of a channel
  double error;       // of rotated values, in roundings of the largest
};

class LoweredSizes {
 public:
  // `rotated`: roundings of a product whose two sides rotate.
  LoweredSizes(const math::Lowered& lowered, const SchemeCall& call, double rotated);

  // Of one row of q, [head_dim], and the keys that it may see.
  ScoreSize score(std::size_t q_row) const;
  // Of channel c of the values that a row of q may see, with what the value stage adds.
  Values values(std::size_t q_row, std::size_t c) const;

 private:
  // What the rows of q see that share a key head.
  struct Seen {
    double longest_key = 0.0;
    double longest_value = 0.0;
    std::vector<double> least;  // [value_dim]
    std::vector<double> most;
  };
  const math::Lowered& lowered_;
  const SchemeCall& call_;
  double rotated_;
  double distance_ = 0.0;  // the largest
  std::vector<Seen> seen_;
};

// The largest, in magnitude.
double largest(std::span<const double> x);
// The greatest length of a row of so many.
double longest(std::span<const double> x, std::int64_t channels);

}  // namespace posenc::test
