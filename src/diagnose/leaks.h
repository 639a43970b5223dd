// Whether what a rotation leaves of `after` is noise, or goes with something of `before` that it has no business with:
// another channel, a neighbouring token, another head.
//
// Noise does not know the sign of what it would have to follow. So for each pair of a rest e and a value x of another
// place, over tokens and heads n,
//
//   T = sum e_n x_n / sqrt(sum e_n^2 x_n^2),   P(|T| >= t) <= 2 e^(-t^2 / 2)
//
// where the signs of e are even, whatever its sizes are (Hoeffding 1963, of a sum of +-a_n).
#pragma once

#include <optional>
#include <string>

#include "diagnose/expectation.h"
#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

// What it goes with, in words; nothing where no test says so, where the plan leaves no more than arithmetic may, and
// without a plan.
std::optional<std::string> found_leak(const Samples& samples, const Expectation& expected);

}  // namespace posenc::inline v0_2::port
