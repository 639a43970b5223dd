// reference::attend_backward and attend_linear_backward against central differences of what they are the derivatives
// of: every scheme, under every mask, with GQA, packed sequences, batches, biases that broadcast; and what a wrong
// gradient looks like there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attend/backward/gradient_call.h"
#include "support/error_ratio.h"
#include "support/gradient_tolerances.h"

namespace posenc::test::gradients_test {
namespace {

constexpr std::uint64_t kSeed = 20251127;
constexpr Places kNear[] = {Places::by_order, Places::run, Places::scattered, Places::real};

// (4 D(h) - D(2h)) / 3
double difference(GradientCall& call, const Parameter& parameter, double step) {
  const auto central = [&](double h) {
    parameter.move(h);
    const double above = call.loss();
    parameter.move(-h);
    return (above - call.loss()) / (2 * h);
  };
  const double out = (4 * central(step) - central(2 * step)) / 3;
  parameter.move(0.0);
  return out;
}

// A derivative by differences, and how far it may be off. `is_kink`: there is none.
struct Slope {
  double value = 0.0;
  double bound = 0.0;
  bool is_kink = false;

  double ratio(double along) const { return std::abs(value - along) / bound; }
};

// Steps across a kink (of ReLU, or of CoPE's interpolation) give another slope than shorter or longer ones: such a step
// is taken for shorter. That is seen of the differences alone, so a wrong gradient is not excused by it.
Slope slope_near(GradientCall& call, const Parameter& parameter, double rounding, double along) {
  double step = kDifferenceStep;
  for (int shorter = 0; shorter < 5; ++shorter, step /= 16) {
    const Slope slope{difference(call, parameter, step), difference_bound(rounding, step)};
    if (slope.ratio(along) <= 1) return slope;
    const double longer = difference(call, parameter, 2 * step);
    if (std::abs(slope.value - longer) <= slope.bound + difference_bound(rounding, 2 * step)) return slope;
  }
  return {.is_kink = true};
}

// The same numbers, every head's in the place of the next one's; of what has no heads every row's.
std::vector<double> moved_on(const Parameter& parameter, const LayerPlan& layer) {
  const auto& shape = parameter.shape;
  std::size_t axis = 0;
  for (std::size_t a = shape.size(); a-- > 0;) {
    const bool has_heads = shape[a] == layer.heads || shape[a] == layer.kv_heads;
    if (has_heads || shape[a] == layer.heads * layer.head_dim) axis = a;
  }
  std::int64_t inner = 1;  // elements of one place on that axis
  for (std::size_t a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
  const std::int64_t by = shape[axis] == layer.heads * layer.head_dim ? layer.head_dim : 1;
  std::vector<double> out(parameter.gradient.size());
  for (std::size_t n = 0; n < out.size(); ++n) {
    const auto place = static_cast<std::int64_t>(n);
    const std::int64_t at = place / inner % shape[axis];
    const std::int64_t to = place + ((at + by) % shape[axis] - at) * inner;
    out[static_cast<std::size_t>(to)] = parameter.gradient[n];
  }
  return out;
}

struct Mutant {
  const char* name;
  std::vector<double> gradient;
};

std::vector<Mutant> mutants(const Parameter& parameter, const LayerPlan& layer) {
  std::vector<double> turned = parameter.gradient;
  for (double& x : turned) x = -x;
  std::vector<double> doubled = parameter.gradient;
  for (double& x : doubled) x *= 2;
  std::vector<double> one_less = parameter.gradient;
  *std::ranges::max_element(one_less, {}, [](double x) { return std::abs(x); }) = 0.0;
  return {{"zeroed", std::vector<double>(parameter.gradient.size())},
          {"turned", std::move(turned)},
          {"doubled", std::move(doubled)},
          {"without its largest element", std::move(one_less)},
          {"of other heads", moved_on(parameter, layer)}};
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0.0;
  for (std::size_t n = 0; n < a.size(); ++n) out = std::max(out, std::abs(a[n] - b[n]));
  return out;
}

std::string where(const SchemeCase& scheme, const Arrangement& arrangement, Places places, std::uint64_t seed) {
  return scheme.name + ", " + arrangement.name + ", places " + std::to_string(int(places)) + ", seed " +
         std::to_string(seed);
}

// All schemes, and what a derivative may get wrong that they leave out: factors of a bias, perceptrons and projections
// without biases, an attention factor on values and outputs, decay after another rotation.
std::vector<SchemeCase> schemes() {
  std::vector<SchemeCase> out = all_schemes();
  const T5Bias scaled{.buckets = 12, .max_distance = 20, .bidirectional = true, .gated = true, .scaled = true};
  out.push_back(
      {.name = "T5, scaled and gated", .layer = with_term(scaled), .weights = of_term<T5Weights>([](Tables& tables) {
                                                                     return T5Weights{tables({12, kHeads})};
                                                                   })});
  out.push_back({.name = "perceptron without biases",
                 .layer = with_term(MlpBias{.logarithmic = true}),
                 .weights = of_term<MlpBiasWeights>([](Tables& tables) {
                   return MlpBiasWeights{{Linear{.weight = tables({5, 1})}, Linear{.weight = tables({kHeads, 5})}}};
                 })});
  const Deberta both{.max_distance = 5, .position_to_position = true};
  out.push_back({.name = "DeBERTa without biases",
                 .layer = with_term(both),
                 .weights = of_term<DebertaWeights>([](Tables& tables) {
                   const std::int64_t rows = kHeads * kHeadDim;
                   return DebertaWeights{.table = tables({10, 6}, 0.5),
                                         .keys = {.weight = tables({rows, 6}, 0.5)},
                                         .queries = {.weight = tables({rows, 6}, 0.5)}};
                 })});
  Rope yarn = half_rope();
  yarn.scaling = YarnScaling{.factor = 8.0, .original_max_position_embeddings = 64};
  SchemeCase values{.name = "rotated values and output, YaRN's factor", .layer = with_rotation(yarn)};
  values.layer.value_dim = kHeadDim;
  values.layer.value = RotatedValues{.inverse_on_output = true};
  out.push_back(values);
  SchemeCase two{.name = "xPos after a rotation", .layer = with_rotation(yarn)};
  two.layer.rotate.push_back({.heads = kHeads, .scheme = XPos{.rope = half_rope(), .scale_base = 64.0}});
  out.push_back(two);
  return out;
}

constexpr std::int64_t kGroupings[] = {kKvHeads, kHeads, 1};  // GQA, a KV head for each, one for all

// Each scheme under each mask, tokens placed and heads grouped in turn; `shift` chooses where the turn of heads begins.
template <typename Visit>
std::uint64_t each_call(std::size_t shift, const Visit& visit) {
  std::uint64_t calls = 0;
  std::size_t n = 0;
  for (SchemeCase scheme : schemes()) {
    std::size_t turn = n++;
    for (const Arrangement& arrangement : arrangements()) {
      const Places places = kNear[turn % std::size(kNear)];
      scheme.layer.kv_heads = kGroupings[(turn++ + shift) % std::size(kGroupings)];
      const std::uint64_t seed = kSeed + calls;
      const Places taken = fits(scheme, arrangement, places) ? places : Places::scattered;
      if (!fits(scheme, arrangement, taken)) continue;
      ++calls;
      const std::string at = where(scheme, arrangement, taken, seed);
      SCOPED_TRACE(at);
      GradientCall call(scheme, arrangement, taken, seed);
      call.differentiate();
      visit(call, at);
    }
  }
  return calls;
}

// A mutant is caught where the same comparison fails for it. Left out are those that are what they were: of gradients
// that are 0, or below what differences can tell.
class Judge {
 public:
  explicit Judge(std::string suite) : ratio_(std::move(suite)) {}

  void compare(GradientCall& call, const std::string& at) {
    constexpr double kTold = 1e6;  // in bounds; a direction is orthogonal to so large a change once in a million
    const double rounding = call.rounding();
    for (const Parameter& one : call.parameters) {
      SCOPED_TRACE(one.name);
      const Slope slope = slope_near(call, one, rounding, one.along());
      EXPECT_FALSE(slope.is_kink);
      EXPECT_LE(slope.ratio(one.along()), 1.0) << one.along() << " for " << slope.value;
      ratio_.add(slope.ratio(one.along()), 1.0, one.name + " of " + at);
      ++compared_;
      for (const Mutant& mutant : mutants(one, call.call.layer)) {
        if (furthest(mutant.gradient, one.gradient) < kTold * slope.bound) continue;
        Parameter mutated = one;
        mutated.gradient = mutant.gradient;
        EXPECT_GT(slope.ratio(mutated.along()), 1.0) << mutant.name;
        ++mutated_;
      }
    }
  }

  void expect() const {
    std::printf("[  count   ] %d gradients, %d mutants\n", compared_, mutated_);
    EXPECT_GT(mutated_, 4 * compared_);  // of five
    ratio_.expect();
  }

 private:
  ErrorRatio ratio_;
  int compared_ = 0;
  int mutated_ = 0;
};

TEST(Gradients, AreDifferencesOfTheReference) {
  Judge judge("gradients");
  EXPECT_GT(each_call(0, [&](GradientCall& call, const std::string& at) { judge.compare(call, at); }), 900U);
  judge.expect();
}

// All that a call has moved at once, in the groupings of heads that the test above leaves out for each mask.
TEST(Gradients, AreDifferencesInEveryGrouping) {
  ErrorRatio ratio("gradients of all at once");
  std::uint64_t calls = 0;
  for (const std::size_t shift : {1U, 2U}) {
    calls += each_call(shift, [&](GradientCall& call, const std::string& at) {
      Parameter all{.name = "all"};
      double along = 0.0;
      for (const Parameter& one : call.parameters) along += one.along();
      all.move = [&](double t) {
        for (const Parameter& one : call.parameters) one.move(t);
      };
      const Slope slope = slope_near(call, all, call.rounding(), along);
      EXPECT_FALSE(slope.is_kink);
      EXPECT_LE(slope.ratio(along), 1.0) << along << " for " << slope.value;
      ratio.add(slope.ratio(along), 1.0, at);
    });
  }
  EXPECT_GT(calls, 1800U);
  ratio.expect();
}

// Every rotation that linear attention has a place for, under every mask, with each feature map in turn.
TEST(LinearGradients, AreDifferencesOfTheReference) {
  constexpr FeatureMap kMaps[] = {FeatureMap::elu_plus_one, FeatureMap::identity, FeatureMap::relu};
  std::vector<SchemeCase> schemes = cases_of(Case<Rope>{});
  for (SchemeCase& plain : cases_of(Case<std::monostate>{})) schemes.push_back(std::move(plain));
  Judge judge("gradients of linear attention");
  std::size_t turn = 0;
  for (const SchemeCase& scheme : schemes) {
    for (const Arrangement& arrangement : arrangements()) {
      const Places places = kNear[turn % std::size(kNear)];
      const std::string at = where(scheme, arrangement, places, kSeed + turn);
      SCOPED_TRACE(at);
      ASSERT_TRUE(fits(scheme, arrangement, places));
      GradientCall call(scheme, arrangement, places, kSeed + turn,
                        kMaps[turn / arrangements().size() % std::size(kMaps)]);
      call.differentiate();
      judge.compare(call, at);
      ++turn;
    }
  }
  judge.expect();
}

}  // namespace
}  // namespace posenc::test::gradients_test
