#include "extend/factor_search.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace posenc::tool {
namespace {

constexpr double kSteps = 100.0;         // candidates are whole numbers of these a unit, the paper's step
constexpr double kBeyondStretch = 1.25;  // the paper's largest factor over the stretch
constexpr double kMutated = 0.3;         // of pairs, the paper's part
constexpr std::size_t kParents = 8;
constexpr int kDraws = 100;  // of children that were there already, before the search ends

double rounded(double x) { return std::round(x * kSteps) / kSteps; }

class Evolution {
 public:
  Evolution(const FactorSearch& search, const std::function<double(const PairFactors&)>& loss)
      : search_(search), loss_(loss), largest_(kBeyondStretch * search.stretch), random_(search.seed) {}

  void try_one(const PairFactors& one) {
    if (std::ranges::find(tried_, one) != tried_.end()) return;
    tried_.push_back(one);
    for (const double factor : one.factors) largest_ = std::max(largest_, factor);
    Parent parent{loss_(one), one};
    // Behind those of the same loss: of two the earlier stays.
    const auto place = std::ranges::upper_bound(parents_, parent.loss, {}, &Parent::loss);
    parents_.insert(place, std::move(parent));
    if (parents_.size() > kParents) parents_.pop_back();
  }

  SearchedFactors take() {
    while (std::ssize(tried_) < search_.tries) {
      const std::size_t before = tried_.size();
      for (int n = 0; n < kDraws && tried_.size() == before; ++n) try_one(child());
      if (tried_.size() == before) break;
    }
    return {.best = parents_.front().of, .loss = parents_.front().loss, .tried = std::ssize(tried_)};
  }

 private:
  struct Parent {
    double loss;
    PairFactors of;
  };

  // From 0 to 1; distributions of the standard library differ between its makers.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  const PairFactors& parent() { return parents_[random_() % parents_.size()].of; }

  PairFactors child() {
    PairFactors out = parent();
    if (uniform() < 0.5) {
      const PairFactors& other = parent();
      for (std::size_t p = 0; p < out.factors.size(); ++p) {
        if (uniform() < 0.5) out.factors[p] = other.factors[p];
      }
      if (uniform() < 0.5) out.attention_factor = other.attention_factor;
      return as_candidate(std::move(out));
    }
    for (double& factor : out.factors) {
      if (uniform() >= kMutated) continue;
      // Up to the root of the stretch up or down.
      factor = std::clamp(factor * std::pow(search_.stretch, uniform() - 0.5), 1.0, largest_);
    }
    if (uniform() < kMutated) out.attention_factor = 1.0 + uniform() * (search_.attention_factor - 1.0);
    return as_candidate(std::move(out));
  }

  const FactorSearch& search_;
  const std::function<double(const PairFactors&)>& loss_;
  double largest_;
  std::mt19937_64 random_;
  std::vector<PairFactors> tried_;
  std::vector<Parent> parents_;  // the best first
};

}  // namespace

PairFactors as_candidate(PairFactors factors) {
  for (double& factor : factors.factors) factor = rounded(factor);
  std::ranges::sort(factors.factors);
  factors.attention_factor = rounded(factors.attention_factor);
  return factors;
}

SearchedFactors search_factors(const std::vector<PairFactors>& begin, const FactorSearch& search,
                               const std::function<double(const PairFactors&)>& loss) {
  Evolution evolution(search, loss);
  for (const PairFactors& one : begin) evolution.try_one(as_candidate(one));
  return evolution.take();
}

}  // namespace posenc::tool
