// log, exp and powers that are the same on every processor: the nearest double in all but one of 10^10 cases, from
// additions, multiplications and divisions alone.
//
// The C library's are within 1 ulp, but another ulp where the processor multiplies and adds in one rounding; what is
// computed with them differs between machines in its last digits, a plan's JSON too. These compute in pairs of doubles
// (Dekker 1971, as in the QD library of Hida, Li and Bailey), 100 bits and more, and round once. Oracle in tests: MPFR.
#pragma once

#include <cstdint>
#include <vector>

namespace posenc::math {

// ln(x), of a finite x above 0.
double logarithm(double x) noexcept;

// base^exponent, of a finite base above 0. Beyond the largest double it is no number, or infinite.
double power(double base, double exponent) noexcept;

// base^(n * numerator / denominator) for n = 0 .. count - 1, of a finite base above 0; exponents are not rounded.
// Errors add up: of 2^12 powers the last is off by 2^-90 of itself before it is rounded.
std::vector<double> power_sequence(double base, double numerator, double denominator, std::int64_t count);

}  // namespace posenc::math
