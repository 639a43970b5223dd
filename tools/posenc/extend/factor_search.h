// LongRoPE's search (arXiv 2402.13753): a divisor of each pair's frequency, found by what it costs. The paper's
// divisors do not shrink with the wavelength, lie between 1 and 1.25 times the stretch, and are whole hundredths; so
// here. The paper also leaves the first tokens of a text as they are, which no format of a model can say: that is not
// searched.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace posenc::tool {

struct PairFactors {
  std::vector<double> factors;  // by wavelength, the shortest first
  double attention_factor = 1.0;
  bool operator==(const PairFactors&) const = default;
};

struct FactorSearch {
  double stretch = 1.0;           // the length that is wanted over the trained one
  double attention_factor = 1.0;  // the largest that is tried
  std::int64_t tries = 0;
  std::uint64_t seed = 0;
};

struct SearchedFactors {
  PairFactors best;
  double loss = 0.0;
  std::int64_t tried = 0;  // fewer than were asked for where there is nothing new to try
};

// Hundredths, sorted: what a candidate has to be.
PairFactors as_candidate(PairFactors factors);

// Evolution, one child after the other: of the best eight so far one is mutated or two are crossed, and no candidate is
// tried twice. `begin` counts among the tries, and is tried whatever their number. The same calls of `loss`, in the
// same order, for the same arguments and losses.
SearchedFactors search_factors(const std::vector<PairFactors>& begin, const FactorSearch& search,
                               const std::function<double(const PairFactors&)>& loss);

}  // namespace posenc::tool
