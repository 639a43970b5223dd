// Slips of code that leave no rotation: each pair of channels (a, b) goes through a matrix of cos and sin that is not
// orthogonal, or whose angles are not the pair's.
//
//   rotate_half without its minus              a cos + b sin,   b cos + a sin
//   in place, b made of the new a              a' = a cos - b sin,   b cos + a' sin
//   cos and sin in the other pairing's order   the two channels of a pair have angles of different pairs
//
// Judged on the elements themselves: sum |y - M x|^2 against noise, which is what the best 2 x 2 matrix of each token
// and pair leaves over the heads.
#pragma once

#include <vector>

#include "diagnose/expectation.h"
#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

struct FoundSlips {
  // What leaves no more than noise, at the plan's pairs, frequencies and positions; the best, and what noise does not
  // tell from it.
  std::vector<Change> named{};
  double share = 1.0;  // of the energy of after that the best of all leaves, named or not
};

// Nothing without a plan.
FoundSlips found_slips(const Samples& samples, const Expectation& expected);

}  // namespace posenc::inline v0_2::port
