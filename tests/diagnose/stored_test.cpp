// Keys that were stored in eight bits with a scale: what storing them leaves is no fault of the rotation, and what is
// more than that still is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "diagnose/faults.h"

namespace posenc::test {
namespace {

// To nearest, of `bits` significant bits, the last place 2^least at the least, where the largest of what shares a scale
// is `largest`.
struct Eight {
  const char* name;
  int bits;
  int least;
  double largest;
};
constexpr std::array<Eight, 4> kEight{
    Eight{"e4m3", 4, -9, 448.0},
    {"e5m2", 3, -16, 57344.0},
    {"e5m2 up to 50000", 3, -16, 50000.0},
    {"int8", 7, 0, 127.0}};

double rounded(const Eight& to, double x) {
  if (x == 0) return x;
  const double place = std::exp2(std::max(std::ilogb(x) - to.bits + 1, to.least));
  return place * std::nearbyint(x / place);
}

// Which elements share a scale, by what it is of: those of one number.
struct Shared {
  const char* name;
  std::size_t (*group)(const Tensor& x, std::size_t i);
};
constexpr std::array<Shared, 5> kShared{
    Shared{"tensor", [](const Tensor&, std::size_t) { return std::size_t{0}; }},
    {"head", [](const Tensor& x, std::size_t i) { return i / (x.sizes.tokens * x.sizes.channels) % x.sizes.heads; }},
    {"token", [](const Tensor& x, std::size_t i) { return i / x.sizes.channels % x.sizes.tokens; }},
    {"token and head", [](const Tensor& x, std::size_t i) { return i / x.sizes.channels; }},
    {"block", [](const Tensor&, std::size_t i) { return i / 32; }}};

void store(Tensor& x, const Eight& to, const Shared& shared) {
  std::map<std::size_t, double> largest;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    double& most = largest[shared.group(x, i)];
    most = std::max(most, std::fabs(x.values[i]));
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double scale = largest[shared.group(x, i)] / to.largest;
    if (scale > 0) x.values[i] = scale * rounded(to, x.values[i] / scale);
  }
  round_all(x);
}

Diagnosis diagnosed(const PortedPlan& plan, const Tensor& before, const Tensor& after,
                    std::optional<std::int64_t> start) {
  const Bytes x = bytes_of(before);
  const Bytes y = bytes_of(after);
  return diagnose({.before = x.view, .after = y.view, .rotate = &plan.rotate, .plan = &plan.plan, .start = start});
}

// What the inputs are like.
struct KeyInput {
  const char* name;
  std::size_t tokens, heads;
  DType dtype;
  void (*spoil)(Tensor& x);
};
constexpr std::array<KeyInput, 5> kKeyInputs{
    KeyInput{"normal", 64, 4, DType::f32, [](Tensor&) {}},
    {"in bfloat16", 48, 4, DType::bf16, [](Tensor&) {}},
    {"a channel of the first token is huge", 33, 1, DType::f32,
     [](Tensor& x) {
       for (std::size_t h = 0; h < x.sizes.heads; ++h) x.at(0, h, 0, 3) = 300;
     }},
    {"sparse", 4, 1, DType::f32,
     [](Tensor& x) {
       for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] *= i * 7 % 5 == 0 ? 1 : 0;
     }},
    {"heads are the same", 2, 4, DType::f32, [](Tensor& x) {
       const std::size_t head = x.sizes.tokens * x.sizes.channels;
       for (std::size_t i = head; i < x.values.size(); ++i) x.values[i] = x.values[i - head];
     }}};

TEST(stored, blames_no_rotation_for_eight_bits_with_a_scale) {
  std::uint64_t seed = 0;
  for (const PortedPlan& plan : ported_plans()) {
    if (plan.axes != 1) continue;
    for (const KeyInput& input : kKeyInputs) {
      for (const Eight& to : kEight) {
        for (const Shared& shared : kShared) {
          std::mt19937_64 random(++seed);
          if (seed % 13 != 0) continue;  // time
          Tensor before = random_tensor({1, input.tokens, input.heads, plan.channels}, input.dtype, random);
          input.spoil(before);
          round_all(before);
          Port port = plan.port;
          port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) {
            return 7 + static_cast<double>(t);
          };
          Tensor after = rotated(port, before);
          store(after, to, shared);
          const Diagnosis d = diagnosed(plan, before, after, 7);
          EXPECT_NE(d.verdict, PortVerdict::differs)
              << plan.name << ", " << input.name << ", " << to.name << ", a scale of the " << shared.name << ", seed "
              << seed << "\n"
              << describe(d);
        }
      }
    }
  }
}

// Nobody says where the first token stands: the plan's elements are not known.
TEST(stored, blames_no_rotation_where_the_start_is_not_given) {
  const PortedPlan plan = ported_plans().front();
  Port port = plan.port;
  port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) { return 1000 + static_cast<double>(t); };
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    std::mt19937_64 random(seed);
    Tensor before = random_tensor({1, 33, 4, plan.channels}, DType::f32, random);
    std::bernoulli_distribution kept(0.2);
    for (double& x : before.values) x *= kept(random) ? 1 : 0;
    Tensor after = rotated(port, before);
    store(after, kEight.front(), kShared.at(3));
    const Diagnosis d = diagnosed(plan, before, after, {});
    EXPECT_NE(d.verdict, PortVerdict::differs) << "seed " << seed << "\n" << describe(d);
  }
}

// Steps of eight bits took other positions, and rules by as much, for a rotation's: "linear, factor 2".
TEST(stored, blames_no_number_where_the_start_is_not_given) {
  const PortedPlan plan = ported_plans().front();
  Port port = plan.port;
  for (const std::int64_t start : {1, 1000}) {
    port.position = [&](std::size_t, std::size_t, std::size_t t, std::size_t) { return static_cast<double>(start + t); };
    for (const Eight& to : kEight) {
      for (const std::uint64_t seed : {1, 2}) {
        std::mt19937_64 random(seed);
        Tensor before = random_tensor({1, 64, 1, plan.channels}, DType::f32, random);
        std::bernoulli_distribution kept(0.2);
        for (double& x : before.values) x *= kept(random) ? 1 : 0;
        Tensor after = rotated(port, before);
        store(after, to, kShared.front());
        const Diagnosis d = diagnosed(plan, before, after, {});
        EXPECT_NE(d.verdict, PortVerdict::differs) << to.name << " from " << start << ", seed " << seed << "\n" << describe(d);
      }
    }
  }
}

// Positions that are off and a wrong base move elements by more than half a step.
TEST(stored, takes_nothing_for_eight_bits_that_they_do_not_do) {
  const PortedPlan plan = ported_plans().front();
  const auto told = [&](const char* what, auto spoil) {
    for (const Eight& to : kEight) {
      std::mt19937_64 random(11);
      const Tensor before = random_tensor({1, 32, 2, plan.channels}, DType::f32, random);
      Port port = plan.port;
      spoil(port);
      Tensor after = rotated(port, before);
      store(after, to, kShared.front());
      const Diagnosis d = diagnosed(plan, before, after, 0);
      EXPECT_EQ(d.verdict, PortVerdict::differs) << what << ", " << to.name << "\n" << describe(d);
    }
  };
  told("off by one", [](Port& port) {
    port.position = [](std::size_t, std::size_t, std::size_t t, std::size_t) { return 1 + static_cast<double>(t); };
  });
  told("another base", [](Port& port) { port.inv_freq = plain_frequencies(500, 128); });
}

}  // namespace
}  // namespace posenc::test
