// Outputs of every scheme as means of values: linear in them, and smaller by what a sink takes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attend/comparison.h"
#include "attend/scheme_call.h"
#include "cpu/lower/lower.h"
#include "support/all_schemes.h"
#include "support/tolerances.h"

namespace posenc::test::outputs_test {
namespace {

constexpr std::uint64_t kSeed = 16180;

// Every scheme, under the arrangements in turn.
template <typename Check>
void for_each_call(const Check& check) {
  const std::vector<Arrangement> all = arrangements();
  std::uint64_t calls = 0;
  for (const SchemeCase& scheme : all_schemes()) {
    for (int arranged = 0; arranged < 2; ++calls) {
      const Arrangement& arrangement = all[calls % all.size()];
      if (!fits(scheme, arrangement, Places::scattered)) continue;
      ++arranged;
      const std::string where = scheme.name + ", " + arrangement.name + ", seed " + std::to_string(kSeed + calls);
      SchemeCall call(scheme, arrangement, Places::scattered, kSeed + calls);
      check(call, where);
    }
  }
}

using Sizes = std::vector<Values>;

// Of the values as they are now, for each of so many outputs.
Sizes sizes(const math::Lowered& lowered, const SchemeCall& call, std::size_t outputs) {
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  Sizes out;
  const LoweredSizes of_call(lowered, call, kRotatedTwice);
  for (std::size_t n = 0; n < outputs; ++n) out.push_back(of_call.values(n / width, n % width));
  return out;
}

// o(v + w) - o(w) = o(v) - o(0): what the value stage adds is the same on both sides. Weights are, to the bit.
TEST(EveryScheme, IsLinearInValues) {
  ErrorRatio ratio("linear in values");
  for_each_call([&](SchemeCall& call, const std::string& where) {
    Random random(kSeed);
    const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
    const std::vector<double> v = call.v.values;
    std::vector<double> w;
    for (std::size_t n = 0; n < v.size(); ++n) w.push_back(random.number());
    const auto outputs = [&](double of_v, double of_w) {
      for (std::size_t n = 0; n < v.size(); ++n) call.v.values[n] = of_v * v[n] + of_w * w[n];
      return call.by_formulas().out;
    };
    const std::vector<double> of_both = outputs(1, 1);
    const std::vector<double> of_none = outputs(0, 0);
    const std::vector<double> of_v = outputs(1, 0);
    const Sizes sizes_of_v = sizes(lowered, call, of_v.size());
    const std::vector<double> of_w = outputs(0, 1);
    const Sizes sizes_of_w = sizes(lowered, call, of_w.size());
    for (std::size_t n = 0; n < of_v.size(); ++n) {
      ratio.add(
          std::abs(of_both[n] - of_w[n] - of_v[n] + of_none[n]),
          linear_outputs_bound(static_cast<double>(call.sizes.keys), sizes_of_v[n].largest + sizes_of_w[n].largest,
                               value_error(sizes_of_v[n]) + value_error(sizes_of_w[n])),
          where);
    }
  });
  ratio.expect();
}

// e^sink beside e^lse: outputs keep e^lse / (e^lse + e^sink) of what they were; the lse is of the keys alone.
TEST(EveryScheme, GivesASinkItsShare) {
  ErrorRatio ratio("sinks");
  for_each_call([&](SchemeCall& call, const std::string& where) {
    if (call.layer.sinks) return;
    const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
    const SchemeCall::Result before = call.by_formulas();
    Tensor sinks{{-1.0, 0.0, 1.5, 4.0}, {kHeads}};
    call.layer.sinks = true;
    call.weights.sinks = sinks;
    const SchemeCall::Result after = call.by_formulas();
    EXPECT_EQ(after.lse, before.lse) << where;
    const bool is_batch = call.q.shape.size() == 4;
    const LoweredSizes sizes(lowered, call, kRotatedTwice);
    for (std::size_t row = 0; row < after.lse.size(); ++row) {
      const auto n = static_cast<std::int64_t>(row);
      const double sink =
          sinks.values[static_cast<std::size_t>(is_batch ? n / call.sizes.queries % kHeads : n % kHeads)];
      const double share = 1 / (1 + std::exp(sink - after.lse[row]));
      for (std::int64_t c = 0; c < call.layer.value_dim; ++c) {
        const std::size_t at = row * static_cast<std::size_t>(call.layer.value_dim) + static_cast<std::size_t>(c);
        const Values values = sizes.values(row, static_cast<std::size_t>(c));
        ratio.add(std::abs(after.out[at] - share * before.out[at]),
                  sink_share_bound(static_cast<double>(call.sizes.keys), after.lse[row], sink, values.largest,
                                   value_error(values)),
                  where);
      }
    }
  });
  ratio.expect();
}

}  // namespace
}  // namespace posenc::test::outputs_test
