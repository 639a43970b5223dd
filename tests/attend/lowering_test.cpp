// The lowering, executed: attention by primitives is attention by formulas, for every scheme under every mask.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/comparison.h"
#include "attend/scheme_call.h"
#include "cpu/lower/lower.h"
#include "support/all_schemes.h"
#include "support/heap_probe.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::lowering_test {
namespace {

constexpr std::uint64_t kSeed = 20240229;

class Comparison {
 public:
  explicit Comparison(std::string suite) : ratio_(suite), lse_ratio_(suite + ", lse") {}

  void compare(const SchemeCase& scheme, const Arrangement& arrangement, Places places, double relative) {
    const std::string where = scheme.name + ", " + arrangement.name + ", places " + std::to_string(int(places)) +
                              ", seed " + std::to_string(kSeed + calls_);
    SCOPED_TRACE(where);
    SchemeCall call(scheme, arrangement, places, kSeed + calls_++);
    const SchemeCall::Result is = call.by_primitives();
    const SchemeCall::Result wanted = call.by_formulas();

    const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
    const Apartness apart = apartness(call, lowered, is, wanted);
    ratio_.add(apart.out, 1.0, where);
    lse_ratio_.add(apart.lse, 1.0, where);
    EXPECT_LE(apart.of_values, relative);
  }

  void expect() const {
    ratio_.expect();
    lse_ratio_.expect();
  }
  std::uint64_t calls() const { return calls_; }

 private:
  ErrorRatio ratio_;
  ErrorRatio lse_ratio_;
  std::uint64_t calls_ = 0;
};

constexpr Places kNear[] = {Places::by_order, Places::run, Places::scattered, Places::real};

TEST(Lowering, IsWhatTheFormulasSay) {
  Comparison all("lowered layers");
  for (const SchemeCase& scheme : all_schemes()) {
    std::size_t turn = 0;
    for (const Arrangement& arrangement : arrangements()) {
      // All ways of placing tokens under the first mask, each in turn under the others.
      for (const Places places : kNear) {
        const bool is_chosen = turn == 0 || kNear[turn % std::size(kNear)] == places;
        if (is_chosen && fits(scheme, arrangement, places)) all.compare(scheme, arrangement, places, kLoweredLayer);
      }
      ++turn;
    }
  }
  EXPECT_GT(all.calls(), 700U);
  all.expect();
}

// At 2^31 a column of ALiBi is a number of 1e9: the bound follows the size, and so does the difference.
TEST(Lowering, HoldsFarOut) {
  Comparison far("lowered layers from position 2^31 on");
  const std::vector<Arrangement> all = arrangements();
  for (const SchemeCase& scheme : all_schemes()) {
    for (const std::size_t n : {0U, 4U, 8U, 9U}) {
      if (fits(scheme, all.at(n), Places::far)) {
        far.compare(scheme, all[n], Places::far, std::numeric_limits<double>::infinity());
      }
    }
  }
  far.expect();
}

Arrangement of_length(std::int64_t n) {
  return {.name = "long", .mask = {.kind = MaskKind::causal}, .batch = 2, .queries = n, .keys = n};
}

std::int64_t bytes_to_lower(const SchemeCase& scheme, std::int64_t n) {
  const Places places = scheme.side > 0 ? Places::scattered : Places::by_order;
  const SchemeCall call(scheme, of_length(n), places, kSeed);
  const HeapProbe probe;
  const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
  EXPECT_EQ(lowered.q_rows, 2 * n);
  return probe.peak_growth();
}

// Twice the tokens take at most twice the memory, and a page for what the allocator rounds up.
TEST(Lowering, AllocatesNothingOfQueriesTimesKeys) {
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    const std::int64_t at_256 = bytes_to_lower(scheme, 256);
    EXPECT_GT(at_256, 0);
    EXPECT_LE(bytes_to_lower(scheme, 512), 2 * at_256 + 4096);
  }
}

SchemeCase named(const std::string& name) {
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.name == name) return scheme;
  }
  throw std::out_of_range(name);
}

math::Lowered lowered(const SchemeCall& call) { return cpu::lower(call.layer, call.weights, call.inputs, call.sizes); }

TEST(Lowering, RefusesWhatATableCannotHold) {
  SchemeCall call(named("KERPLE"), of_length(2), Places::by_order, kSeed);
  const std::vector<double> halves{0.0, 0.5, 0.0, 0.5};
  call.inputs.q_positions = call.inputs.k_positions = std::span<const double>(halves);
  EXPECT_ERROR(lowered(call), "[lower] positions must have whole distances, for a table of them but is 0 and 0.5");
  const std::vector<std::int64_t> far_apart{0, std::int64_t{1} << 40, 0, 0};
  call.inputs.q_positions = call.inputs.k_positions = std::span<const std::int64_t>(far_apart);
  EXPECT_ERROR(lowered(call),
               "[lower] positions must have distances for a table of at most 1073741824 bytes but is 35184372088848 "
               "bytes");
}

// Keys as far behind as they like: what counts is how many distances occur, not how large they are.
TEST(Lowering, HasTablesOfWhatOccursAlone) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const std::vector<std::int64_t> queries{kFar, kFar + 1, kFar, kFar + 1};
  const std::vector<std::int64_t> keys{0, 1, 0, 1};
  SchemeCall call(named("KERPLE"), of_length(2), Places::by_order, kSeed);
  for (const bool is_behind : {true, false}) {
    call.inputs.q_positions = std::span<const std::int64_t>(is_behind ? queries : keys);
    call.inputs.k_positions = std::span<const std::int64_t>(is_behind ? keys : queries);
    const HeapProbe probe;
    lowered(call);
    EXPECT_LT(probe.peak_growth(), 1 << 16);
  }
}

// x is at least 0: a unit that bends below, or not at all, makes no segment.
TEST(Lowering, HasSegmentsOfFireWhereUnitsBend) {
  SchemeCall call(named("FIRE"), of_length(2), Places::by_order, kSeed);
  Tensor weight = zeros({6, 1});
  Tensor bias = zeros({6});
  weight.values = {2.0, -1.0, 0.0, 0.0, 1.0, 1.0};
  bias.values = {-1.0, 3.0, 1.0, -1.0, 1.0, 0.0};
  const Tensor out = zeros({kHeads, 6});
  auto& fire = std::get<FireWeights>(call.weights.score.front());
  fire.hidden = {.weight = weight, .bias = bias};
  fire.out.weight = out;
  const math::Lowered made = lowered(call);
  EXPECT_EQ(std::get<math::Knots>(made.terms.front()).edges, (std::vector<double>{0.5, 3.0}));
}

// What ends in a bucket needs no table of the distances beyond it.
TEST(Lowering, EndsTablesWhereBucketsEnd) {
  const std::vector<std::int64_t> far_apart{0, std::int64_t{1} << 40, 7, -(std::int64_t{1} << 40)};
  for (const char* name : {"T5", "clipped", "Shaw's keys", "DeBERTa 2", "Transformer-XL clamped", "Shaw's values"}) {
    SCOPED_TRACE(name);
    SchemeCall call(named(name), of_length(2), Places::by_order, kSeed);
    call.inputs.q_positions = call.inputs.k_positions = std::span<const std::int64_t>(far_apart);
    const HeapProbe probe;
    lowered(call);
    EXPECT_LT(probe.peak_growth(), 1 << 16);
  }
}

TEST(Lowering, RefusesGatesWithoutASum) {
  SchemeCall call(named("forget gates"), of_length(2), Places::by_order, kSeed);
  Tensor gates = zeros({4, kHeads});
  gates.values[5] = -HUGE_VAL;
  call.inputs.log_forget = gates;
  EXPECT_ERROR(lowered(call), "[lower] log_forget must be finite, for sums from the start of the sequence but is -inf");
}

}  // namespace
}  // namespace posenc::test::lowering_test
