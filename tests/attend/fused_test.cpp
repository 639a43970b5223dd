// attend against the reference: every scheme, under every mask, on every instruction set, in every dtype.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "attend/fused_call.h"
#include "attend/lowered_size.h"
#include "attend/scheme_call.h"
#include "cpu/lower.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

constexpr std::uint64_t kSeed = 20250301;
constexpr Places kNear[] = {Places::by_order, Places::run, Places::scattered, Places::real};

// Gates are summed along ascending orders only.
bool sums_gates(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score,
                             [](const ScoreTerm& term) { return std::holds_alternative<ContextualPosition>(term); });
}

class Comparison {
 public:
  Comparison(std::string suite, Isa isa) : isa_(isa), ratio_(suite), lse_ratio_(suite + ", lse") {}

  void compare(const SchemeCase& scheme, const Arrangement& arrangement, Places places, DType dtype = DType::f32) {
    if (!fits(scheme, arrangement, places)) return;
    if (arrangement.orders_are_given && sums_gates(scheme.layer)) return;
    const std::string where = scheme.name + ", " + arrangement.name + " " + std::to_string(arrangement.queries) + "/" +
                              std::to_string(arrangement.keys) + ", places " + std::to_string(int(places)) + ", " +
                              std::string(name(dtype)) + ", seed " + std::to_string(kSeed + calls_);
    SCOPED_TRACE(where);
    SchemeCall call(scheme, arrangement, places, kSeed + calls_++);
    FusedCall fused(call, dtype);
    const SchemeCall::Result is = fused.by_kernels(isa_);
    const SchemeCall::Result wanted = call.by_formulas();
    const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
    const auto keys = static_cast<double>(call.sizes.keys);
    const auto width = static_cast<std::size_t>(call.layer.value_dim);
    for (std::size_t row = 0; row < is.lse.size(); ++row) {
      const ScoreSize size = score_size(lowered, call, row, kTurnedInFloats);
      const double score = fused_score(size.size, size.roundings);
      for (std::size_t c = 0; c < width; ++c) {
        const Values values = values_of(lowered, call, row, c, kTurnedInFloats);
        const double out = wanted.out[row * width + c];
        const double bound = fused_output(score, values.half_range, keys, values.largest, values.error);
        ratio_.add(std::abs(is.out[row * width + c] - out), stored_error(dtype, out, bound), where);
      }
      if (is.lse[row] == wanted.lse[row]) continue;  // -inf, too
      lse_ratio_.add(std::abs(is.lse[row] - wanted.lse[row]), fused_lse(score, keys, wanted.lse[row]), where);
    }
  }

  void expect() const {
    ratio_.expect();
    lse_ratio_.expect();
  }
  std::uint64_t calls() const { return calls_; }

 private:
  Isa isa_;
  ErrorRatio ratio_;
  ErrorRatio lse_ratio_;
  std::uint64_t calls_ = 0;
};

TEST(Fused, IsTheReferenceForEverySchemeAndMask) {
  for (const Isa isa : every_isa("fused layers")) {
    Comparison all("fused layers, " + std::string(name(isa)), isa);
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : arrangements()) {
        for (const Places places : kNear) all.compare(scheme, arrangement, places);
      }
    }
    EXPECT_GT(all.calls(), 1400U);
    all.expect();
  }
}

TEST(Fused, HoldsFarOut) {
  for (const Isa isa : every_isa("fused layers, far out")) {
    Comparison far("fused layers from position 2^31 on, " + std::string(name(isa)), isa);
    for (const SchemeCase& scheme : all_schemes()) {
      for (const Arrangement& arrangement : arrangements()) far.compare(scheme, arrangement, Places::far);
    }
    far.expect();
  }
}

// Queries that fill registers, blocks and more, keys that fill tiles, and one less and one more of each.
TEST(Fused, HoldsForEveryTail) {
  for (const Isa isa : every_isa("fused layers, tails")) {
    Comparison tails("fused layers of every length, " + std::string(name(isa)), isa);
    for (const SchemeCase& scheme : all_schemes()) {
      std::int64_t turn = 0;
      for (const std::int64_t queries : {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 33, 47, 48, 49, 63, 65, 97}) {
        const std::int64_t keys = std::array<std::int64_t, 5>{63, 64, 65, 127, 130}[static_cast<std::size_t>(turn % 5)];
        const Places places = kNear[turn++ % 3];
        const Arrangement causal{.name = "causal",
                                 .mask = {.kind = MaskKind::causal},
                                 .batch = scheme.batches_only ? 2 : turn % 2,
                                 .queries = queries,
                                 .keys = keys};
        if (scheme.side == 0 || keys < 100) tails.compare(scheme, causal, places);
      }
    }
    tails.expect();
  }
}

TEST(Fused, TakesEveryDtype) {
  for (const Isa isa : every_isa("fused layers, dtypes")) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      Comparison stored("fused layers in " + std::string(name(dtype)) + ", " + std::string(name(isa)), isa);
      for (const SchemeCase& scheme : all_schemes()) {
        for (const Arrangement& arrangement : arrangements()) {
          stored.compare(scheme, arrangement, Places::by_order, dtype);
        }
      }
      stored.expect();
    }
  }
}

}  // namespace
}  // namespace posenc::test
