// What changes no bit of linear attention, what a state carries, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attend/linear/linear_call.h"
#include "support/every_isa.h"
#include "support/heap_probe.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::linear_invariants_test {
namespace {

constexpr std::uint64_t kSeed = 27182;
constexpr std::int64_t kTokens = 110;
constexpr std::int64_t kChunk = 48;

LinearRows causal() { return {.name = "causal", .queries = kTokens, .keys = kTokens}; }

std::vector<double> rows_of(const std::vector<double>& out, const LinearCall& call, std::int64_t first,
                            std::int64_t count) {
  const std::int64_t row = call.layer.heads * call.layer.value_dim;
  return {out.begin() + first * row, out.begin() + (first + count) * row};
}

TEST(LinearInvariants, AreTheSameWithAnyThreads) {
  const LinearRows both{.name = "both ways", .mask = MaskKind::bidirectional, .queries = 50, .keys = 60, .batch = 2};
  for (const Isa isa : every_isa("linear attention, threads")) {
    for (const LinearRows& rows : {causal(), both}) {
      const LinearCall call(linear_layer(20), rows, FeatureMap::elu_plus_one, DType::f32, kSeed);
      const std::vector<double> wanted = call.by_kernels(isa);
      for (const std::int64_t threads : {1, 2, 3}) EXPECT_EQ(call.by_kernels(isa, threads), wanted);
    }
  }
}

// A thread has its own memory, a sequence has none: as many tokens take as much, however many sequences they are.
TEST(LinearInvariants, TakeMemoryByThreadsAndTokens) {
  const auto bytes = [](std::int64_t batch, std::int64_t tokens) {
    const LinearRows rows{.name = "batch", .queries = tokens, .keys = tokens, .batch = batch};
    const LinearCall call(linear_layer(20), rows, FeatureMap::elu_plus_one, DType::f32, kSeed);
    const HeapProbe probe;
    call.by_kernels(Isa::automatic);
    return probe.peak_growth();
  };
  const std::int64_t of_one = bytes(1, 1024);
  EXPECT_GT(of_one, 0);
  EXPECT_LE(bytes(64, 16), 2 * of_one);
}

// One head shares its angles with nobody: they are made for a chunk when it comes, not for all rows before.
TEST(LinearInvariants, OfOneHeadAreWithinTheBound) {
  LayerPlan layer = linear_layer(20);
  layer.heads = layer.kv_heads = 1;
  const LinearRows both{.name = "both ways", .mask = MaskKind::bidirectional, .queries = 50, .keys = 60, .batch = 2};
  for (const LinearRows& rows : {causal(), both}) {
    const LinearCall call(layer, rows, FeatureMap::elu_plus_one, DType::f32, kSeed);
    const std::vector<double> wanted = call.by_formulas();
    const std::vector<double> bounds = call.bounds(wanted);
    for (const Isa isa : every_isa("linear attention, one head")) {
      const std::vector<double> is = call.by_kernels(isa);
      for (std::size_t n = 0; n < is.size(); ++n) ASSERT_LE(std::abs(is[n] - wanted[n]), bounds[n]) << n;
    }
  }
}

// The first rows see none of the later keys, and stand in the same chunks. (Few rows beside a state have none.)
TEST(LinearInvariants, DoNotKnowWhatComesLater) {
  for (const Isa isa : every_isa("linear attention, later keys")) {
    const LinearCall call(linear_layer(20), causal(), FeatureMap::elu_plus_one, DType::bf16, kSeed);
    const std::vector<double> whole = call.by_kernels(isa);
    for (const std::int64_t first : {5, 47, 48, 50, 97}) {
      LinearNumbers state = call.no_state();
      EXPECT_EQ(call.part(isa, 0, first, state), rows_of(whole, call, 0, first)) << first;
    }
  }
}

// The output of a query that sees nothing is 0, whatever the query is; so is that of a denominator of 0.
TEST(LinearInvariants, AreZeroOfWhatSeesNothing) {
  constexpr std::int64_t kQueries = 60;
  LayerPlan layer = linear_layer(20);
  const auto outputs = [&](Isa isa, std::int64_t keys, float q, float k, float v, FeatureMap map) {
    const std::vector<float> queries(static_cast<std::size_t>(kQueries * layer.heads * 16), q);
    const std::vector<float> of_keys(static_cast<std::size_t>((keys + 1) * layer.kv_heads * 16), k);
    const std::vector<float> values(static_cast<std::size_t>((keys + 1) * layer.kv_heads * 20), v);
    std::vector<float> out(static_cast<std::size_t>(kQueries * layer.heads * 20), -1.0F);
    EXPECT_TRUE(attend_linear(layer, {.out = tensor(out.data(), {kQueries, layer.heads, 20}),
                                      .q = tensor(queries.data(), {kQueries, layer.heads, 16}),
                                      .k = tensor(of_keys.data(), {keys, layer.kv_heads, 16}),
                                      .v = tensor(values.data(), {keys, layer.kv_heads, 20}),
                                      .feature_map = map,
                                      .isa = isa}));
    return out;
  };
  const auto zeros_of = [](const std::vector<float>& out, std::int64_t rows) {
    return std::all_of(out.begin(), out.begin() + rows * std::ssize(out) / kQueries, [](float x) { return x == 0.0F; });
  };
  for (const Isa isa : every_isa("linear attention, queries that see nothing")) {
    for (const float q : {1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (const FeatureMap map : {FeatureMap::elu_plus_one, FeatureMap::relu, FeatureMap::identity}) {
        layer.mask.kind = MaskKind::causal;
        for (const std::int64_t keys : {0, 10, 59}) {
          EXPECT_TRUE(zeros_of(outputs(isa, keys, q, 1.0F, 1.0F, map), kQueries - keys)) << q << ", keys " << keys;
        }
        layer.mask.kind = MaskKind::bidirectional;
        EXPECT_TRUE(zeros_of(outputs(isa, 0, q, 1.0F, 1.0F, map), kQueries)) << q;
      }
    }
    const float infinite = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(zeros_of(outputs(isa, kQueries, 1.0F, 0.0F, infinite, FeatureMap::relu), kQueries));
  }
}

// A row that is not seen has no weight, and 0 NaN is NaN: what has no weight is left out.
TEST(LinearInvariants, DoNotTakeNaNFromLater) {
  constexpr std::int64_t kRows = 60;
  const LayerPlan layer = linear_layer(20);
  Random random(kSeed);
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& x : out) x = static_cast<float>(random.number());
    return out;
  };
  const std::vector<float> q = numbers(kRows * layer.heads * 16);
  const std::vector<float> k = numbers(kRows * layer.kv_heads * 16);
  const std::vector<float> v = numbers(kRows * layer.kv_heads * 20);
  const auto attended = [&](Isa isa, const std::vector<float>& keys, const std::vector<float>& values) {
    std::vector<float> out(static_cast<std::size_t>(kRows * layer.heads * 20));
    EXPECT_TRUE(attend_linear(layer, {.out = tensor(out.data(), {kRows, layer.heads, 20}),
                                      .q = tensor(q.data(), {kRows, layer.heads, 16}),
                                      .k = tensor(keys.data(), {kRows, layer.kv_heads, 16}),
                                      .v = tensor(values.data(), {kRows, layer.kv_heads, 20}),
                                      .isa = isa}));
    return out;
  };
  const auto spoilt_from = [](std::vector<float> x, std::int64_t row, float with) {
    const auto first = row * std::ssize(x) / kRows;
    std::fill(x.begin() + first, x.end(), with);
    return x;
  };
  for (const Isa isa : every_isa("linear attention, NaN in later rows")) {
    const std::vector<float> whole = attended(isa, k, v);
    for (const std::int64_t row : {1, 5, 20, 47, 48, 59}) {
      for (const float with : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const std::vector<float> of_keys = attended(isa, spoilt_from(k, row, with), v);
        const std::vector<float> of_values = attended(isa, k, spoilt_from(v, row, with));
        const auto seen = whole.begin() + row * layer.heads * 20;
        EXPECT_TRUE(std::equal(whole.begin(), seen, of_keys.begin())) << "keys from row " << row;
        EXPECT_TRUE(std::equal(whole.begin(), seen, of_values.begin())) << "values from row " << row;
      }
    }
  }
}

// From part to part, or token by token: at the end of a chunk to the bit, else within the bound.
TEST(LinearInvariants, GoOnFromAState) {
  const LinearCall call(linear_layer(20), causal(), FeatureMap::relu, DType::f32, kSeed);
  const std::vector<double> wanted = call.by_formulas();
  const std::vector<double> bounds = call.bounds(wanted, true);
  for (const Isa isa : every_isa("linear attention, states")) {
    ErrorRatio ratio("linear attention from states, " + std::string(name(isa)));
    LinearNumbers of_whole = call.no_state();
    const std::vector<double> whole = call.by_kernels(isa, 1, &of_whole);
    // Rows of the state that lie apart are not stepped over.
    for (const auto& [step, padding] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 0}, {1, 3}, {3, 0}, {31, 0}, {kChunk, 0}, {2 * kChunk, 0}}) {
      LinearNumbers state = call.no_state(padding);
      std::vector<double> parts;
      for (std::int64_t first = 0; first < kTokens; first += step) {
        const std::vector<double> part = call.part(isa, first, std::min(step, kTokens - first), state);
        parts.insert(parts.end(), part.begin(), part.end());
      }
      ASSERT_EQ(parts.size(), whole.size());
      if (step % kChunk == 0) {
        EXPECT_EQ(parts, whole);
        EXPECT_EQ(state.products, of_whole.products);
        EXPECT_EQ(state.totals, of_whole.totals);
      }
      for (std::size_t n = 0; n < whole.size(); ++n) {
        ratio.add(std::abs(parts[n] - wanted[n]), bounds[n], "steps of " + std::to_string(step));
      }
    }
    ratio.expect();
  }
}

// A batch is its members, packed sequences are each their own, heads are theirs.
TEST(LinearInvariants, KeepSequencesAndHeadsApart) {
  for (const Isa isa : every_isa("linear attention, sequences")) {
    const LinearRows packed{.name = "packed", .queries = 60, .keys = 60, .ends_q = {0, 50, 60}, .ends_k = {0, 50, 60}};
    LinearCall call(linear_layer(20), packed, FeatureMap::relu, DType::f32, kSeed);
    const std::vector<double> both = call.by_kernels(isa);
    call.rows.ends_q = call.rows.ends_k = {0, 60};
    const std::vector<double> one = call.by_kernels(isa);
    EXPECT_EQ(rows_of(both, call, 0, 50), rows_of(one, call, 0, 50));
    EXPECT_NE(rows_of(both, call, 50, 10), rows_of(one, call, 50, 10));
  }
}

// The state without a rotation is what its formula says, in the order of axes that the header names.
TEST(LinearInvariants, HoldsSumsOfProductsAndOfKeys) {
  LayerPlan layer = linear_layer(3);
  layer.rotate.clear();
  const LinearCall call(layer, {.name = "two keys", .queries = 2, .keys = 2}, FeatureMap::identity, DType::f32, kSeed);
  for (const Isa isa : every_isa("linear attention, the state")) {
    LinearNumbers state = call.no_state();
    call.by_kernels(isa, 1, &state);
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t c = 0; c < 16; ++c) {
        const auto k = [&](std::size_t t) { return call.k.values[(t * 2 + h) * 16 + c]; };
        EXPECT_EQ(state.totals[h * 16 + c], static_cast<float>(k(0)) + static_cast<float>(k(1)));
        for (std::size_t d = 0; d < 3; ++d) {
          const auto v = [&](std::size_t t) { return call.v.values[(t * 2 + h) * 3 + d]; };
          const double wanted = k(0) * v(0) + k(1) * v(1);
          const double size = std::abs(k(0) * v(0)) + std::abs(k(1) * v(1));
          EXPECT_NEAR(static_cast<double>(state.products[(h * 16 + c) * 3 + d]), wanted, 2 * kFloatRounding * size);
        }
      }
    }
  }
}

// ---- What is refused, and calls that end early ----

constexpr float kUntouched = -7.0F;

struct RightCall {
  std::vector<float> q = std::vector<float>(5 * 4 * 16, 0.5F);
  std::vector<float> k = std::vector<float>(5 * 2 * 16, 0.5F);
  std::vector<float> v = std::vector<float>(5 * 2 * 6, 0.5F);
  std::vector<float> out = std::vector<float>(5 * 4 * 6, kUntouched);
  std::vector<float> products = std::vector<float>(2 * 16 * 6, kUntouched);
  std::vector<float> totals = std::vector<float>(2 * 16, kUntouched);
  LayerPlan layer = linear_layer(6);
  AttendLinearArgs args{
      .out = tensor(out.data(), {5, 4, 6}),
      .q = tensor(q.data(), {5, 4, 16}),
      .k = tensor(k.data(), {5, 2, 16}),
      .v = tensor(v.data(), {5, 2, 6}),
      .inputs = {.q_positions = PositionRange{3}, .k_positions = PositionRange{3}},
      .state = {.products = tensor(products.data(), {1, 2, 16, 6}), .totals = tensor(totals.data(), {1, 2, 16})}};
};

TEST(LinearRefusals, SayWhatDoesNotFit) {
  struct Case {
    std::function<void(RightCall&)> spoil;
    std::string says;
  };
  const std::vector<std::int64_t> order{0, 1, 2, 3, 4};
  const std::vector<Case> cases{
      {[](RightCall& x) { x.layer.score.emplace_back(Alibi{.heads = 4}); },
       "layer.score must be omitted in linear attention but is given"},
      {[](RightCall& x) { x.layer.mask.kind = MaskKind::prefix; },
       "layer.mask.kind must be causal or bidirectional in linear attention but is another"},
      {[](RightCall& x) { x.layer.mask.window = Window{.past = 3}; },
       "layer.mask.window must be omitted in linear attention, which sums over all keys, but is given"},
      {[&](RightCall& x) { x.args.inputs.k_order = order; },
       "k_order must be omitted in linear attention, which sums over all keys, but is given"},
      {[](RightCall& x) { x.args.q.shape[2] = 8; }, "q must have shape [5, 4, 16] but is [5, 4, 8]"},
      {[](RightCall& x) { x.args.k.dtype = DType::f64; }, "k.dtype must be f32, f16 or bf16 but is f64"},
      {[](RightCall& x) { x.args.state.totals = {}; }, "state.totals must have shape [1, 2, 16] but is omitted"},
      {[](RightCall& x) { x.args.state.products.shape[3] = 5; },
       "state.products must have shape [1, 2, 16, 6] but is [1, 2, 16, 5]"},
      {[](RightCall& x) { x.args.state.products.dtype = DType::bf16; }, "state.products.dtype must be f32 but is bf16"},
      {[](RightCall& x) { x.args.state.totals.strides[2] = 2; }, "state.totals.strides[2] must be 1 but is 2"},
      {[](RightCall& x) { x.args.state.totals.data = x.out.data(); },
       "state.totals must not share memory with out but is memory of both"},
      {[](RightCall& x) { x.args.inputs.k_positions.reset(); },
       "k_positions must be given with a state, which does not say where its tokens stood, but is omitted"},
      {[](RightCall& x) { x.args.parallel.threads = -1; }, "parallel.threads must be at least 0 but is -1"},
  };
  for (const Case& one : cases) {
    RightCall call;
    one.spoil(call);
    try {
      (void)attend_linear(call.layer, call.args);
      ADD_FAILURE() << "taken: " << one.says;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "[attend_linear] " + one.says);
    }
    for (const std::vector<float>* const x : {&call.out, &call.products, &call.totals}) {
      EXPECT_TRUE(std::ranges::all_of(*x, [](float value) { return value == kUntouched; })) << one.says;
    }
  }
  RightCall call;
  EXPECT_TRUE(attend_linear(call.layer, call.args));
}

TEST(LinearRefusals, EndsWhenTold) {
  for (const std::int64_t threads : {1, 2}) {
    LinearCall call(linear_layer(16), {.name = "long", .queries = 1000, .keys = 1000}, FeatureMap::relu, DType::f32,
                    kSeed);
    int asked = 0;
    const auto says_no = [&] { return ++asked < 2; };
    EXPECT_FALSE(call.until(says_no, threads));
    EXPECT_EQ(asked, 2);
    EXPECT_THROW(call.until([]() -> bool { throw std::runtime_error("no more"); }, threads), std::runtime_error);
  }
}

// One token is a step in place: the state must not be written by half.
TEST(LinearRefusals, ADecodeStepEndsWhenTold) {
  const auto step = [](RightCall& call, std::function<bool()> keep_going) {
    call.args.out = tensor(call.out.data(), {1, 4, 6});
    call.args.q = tensor(call.q.data(), {1, 4, 16});
    call.args.k = tensor(call.k.data(), {1, 2, 16});
    call.args.v = tensor(call.v.data(), {1, 2, 6});
    call.args.keep_going = std::move(keep_going);
    return attend_linear(call.layer, call.args);
  };
  RightCall call;
  EXPECT_FALSE(step(call, [] { return false; }));
  EXPECT_THROW((void)step(call, []() -> bool { throw std::runtime_error("no more"); }), std::runtime_error);
  for (const std::vector<float>* const x : {&call.out, &call.products, &call.totals}) {
    EXPECT_TRUE(std::ranges::all_of(*x, [](float value) { return value == kUntouched; }));
  }
  EXPECT_TRUE(step(call, [] { return true; }));
}

}  // namespace
}  // namespace posenc::test::linear_invariants_test
