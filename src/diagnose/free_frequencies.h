// Frequencies of pairs from nothing but how their angles grow from token to token, and the ropes that fit these.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

struct FreeFrequencies {
  std::vector<double> inv_freq;  // [pairs], radians per token; negative: the other way
  std::vector<double> spread;    // [pairs], standard deviation
};

// Lags of 1, 2, 4, ... tokens, each refining the last: the mean of conj(c[t]) c[t + lag]. Of tokens whose positions do
// not count by one it is no frequency, and no hypothesis made of it will hold.
FreeFrequencies free_frequencies(const MeasuredTable& table);

// The same over coordinates that are known, whole numbers: of those that are there lags of 1, 2, 4, ... of the axis
// that each pair has.
FreeFrequencies free_frequencies(const MeasuredTable& table, const Places& places,
                                 const std::vector<std::int32_t>& axis_of_pair);

// The number that makes of `inv_freq(number)` what is nearest to the measured frequencies: the weighted sum of squares
// of relative differences at its least. Searched by thirds between the ends, on a logarithmic scale; nothing where no
// pair was measured well enough.
std::optional<double> fitted_number(const FreeFrequencies& measured, double low, double high,
                                    const std::function<std::vector<double>(double)>& inv_freq);

// The number near `value` that positions say which are far from 0, known and as expected: angles of the slowest pairs
// first, whose turns are no question, then ever faster ones while what is known of the number leaves no doubt of
// theirs.
double refined_number(const MeasuredTable& table, const Places& places, const std::vector<std::int32_t>& axis_of_pair,
                      double value, const std::function<std::vector<double>(double)>& inv_freq);

// `value` to ever more digits, from one on, until `holds`; up to 6 digits.
std::optional<double> fewest_digits(double value, const std::function<bool(double)>& holds);

}  // namespace posenc::inline v0_2::port
