// All positions moved by the same: relative schemes do not notice. Which are, and by how much regions may be moved, is
// said beside each scheme of all_schemes.h.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "attend/comparison.h"
#include "attend/scheme_call.h"
#include "cpu/lower/lower.h"
#include "support/all_schemes.h"
#include "support/tolerances.h"

namespace posenc::test::shift_test {
namespace {

constexpr std::uint64_t kSeed = 27182;
constexpr std::int64_t kFar = 997;  // a prime, and so no multiple of a period

constexpr double kLargest = 2 * kFar;  // of positions, once they are shifted

void shift(LayerInputs& inputs, std::int64_t by) {
  for (auto* positions : {&inputs.q_positions, &inputs.k_positions})
    std::get<PositionRange>(positions->value()).start += by;
}

// How far outputs are from where they were.
double moved(const SchemeCase& scheme, const Arrangement& arrangement, std::uint64_t seed, std::int64_t by) {
  SchemeCall call(scheme, arrangement, Places::run, seed);
  const SchemeCall::Result here = call.by_formulas();
  shift(call.inputs, by);
  const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
  const auto* rerope = std::get_if<ReRope>(&call.layer.regions);
  const bool is_real = rerope != nullptr && rerope->step;
  return apartness(call, lowered, call.by_formulas(), here, is_real ? real_place_roundings(kLargest) : 0.0).out;
}

TEST(EveryScheme, IsShiftedByMultiplesOfItsPeriod) {
  ErrorRatio ratio("shifted by a multiple of the period");
  const std::vector<Arrangement> all = arrangements();
  std::uint64_t seed = kSeed;
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.period == 0) continue;
    for (const Arrangement& arrangement : {all[0], all[4], all[6], all[8]}) {  // causal, all seen, packed, cached keys
      if (!fits(scheme, arrangement, Places::run)) continue;
      const std::string where = scheme.name + ", " + arrangement.name + ", seed " + std::to_string(++seed);
      ratio.add(moved(scheme, arrangement, seed, kFar * scheme.period), 1.0, where);
    }
  }
  ratio.expect();
}

// Under a window or in a chunk regions may all be near.
TEST(EveryScheme, IsNotShiftedByAnythingElse) {
  std::uint64_t seed = kSeed;
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.period == 1) continue;
    for (const Arrangement& arrangement : arrangements()) {
      if (arrangement.mask.window || arrangement.mask.chunk) continue;
      EXPECT_GT(moved(scheme, arrangement, ++seed, kFar), 1.0)
          << scheme.name << ", " << arrangement.name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace posenc::test::shift_test
