// Of hypotheses that hold, which the tensors say, by likelihood:
//
//   misfit = sum w |z - c|^2 / v     -2 ln(likelihood), but for what all have in common
//
// The least of the arithmetics that models are run in counts. Where the best leaves nothing but noise, those that are
// level_of(...) nats behind it are out; where even the best has something systematic left, nobody is.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "diagnose/words/explain.h"

namespace posenc::inline v0_2::port {

// |z - c|^2, but no less than rounding to the dtype of `after` may make it.
double beyond_rounding(const MeasuredTable& table, std::complex<double> z, std::size_t cell);

double misfit(const MeasuredTable& table, const Explanation& explanation, Steps steps);

// Sorts into what is as good as the best: the plan and its rivals where the plan is among them, else those with the
// fewest changes. Factors that an explanation does not account for become changes of it. `planned`: the plan's factor;
// `plan_itself`: what fitted numbers have to be better than by more than one pair, or null.
Explained weighed(const MeasuredTable& table, std::vector<Explanation> found, const Explanation* plan_itself,
                  double planned);

}  // namespace posenc::inline v0_2::port
