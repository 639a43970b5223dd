// What changes no bit of a call of attend, and what must not reach its results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/fused/fused_call.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/heap_probe.h"
#include "support/tolerances.h"

namespace posenc::test::fused_invariants_test {
namespace {

constexpr std::uint64_t kSeed = 60221;

Arrangement causal(std::int64_t queries, std::int64_t keys, std::int64_t batch = 0) {
  return {.name = "causal", .mask = {.kind = MaskKind::causal}, .batch = batch, .queries = queries, .keys = keys};
}

// Results that are the same to the bit, -inf among them.
void expect_same(const SchemeCall::Result& is, const SchemeCall::Result& wanted) {
  EXPECT_EQ(is.out, wanted.out);
  EXPECT_EQ(is.lse, wanted.lse);
}

// Products of floats and, where there are any, of bfloat16 by turns.
Products turns_at(std::uint64_t turn) { return turn % 2 == 0 ? Products::f32 : Products::bf16; }

Places near_by(const SchemeCase& scheme) { return scheme.side == 0 ? Places::run : Places::scattered; }

TEST(FusedLayers, AreTheSameWhereverTensorsLie) {
  for (const Isa isa : every_isa("fused layers, strides and pages")) {
    std::uint64_t seed = kSeed;
    for (const SchemeCase& scheme : all_schemes()) {
      SCOPED_TRACE(scheme.name);
      for (const Arrangement& arrangement : arrangements()) {
        if (arrangement.orders_are_given || !fits(scheme, arrangement, Places::by_order)) continue;
        if (++seed % 3 != 0) continue;  // each scheme under a few masks, each mask with many schemes
        for (const DType dtype : {DType::f32, DType::bf16}) {
          SCOPED_TRACE(arrangement.name);
          SchemeCall call(scheme, arrangement, Places::by_order, seed);
          FusedCall fused(call, dtype, turns_at(seed));
          const SchemeCall::Result wanted = fused.by_kernels(isa);
          expect_same(fused.by_kernels(isa, {.padding = 3}), wanted);
          if (arrangement.batch > 0) continue;
          for (const std::int64_t size : {1, 4, 64}) expect_same(fused.by_kernels(isa, {.block_size = size}), wanted);
        }
      }
    }
  }
}

// The last of each tensor stands before a page that must not be touched, or its first after one.
TEST(FusedLayers, TouchNothingBesideTensors) {
  for (const Isa isa : every_isa("fused layers, guard pages")) {
    std::uint64_t seed = kSeed;
    for (const SchemeCase& scheme : all_schemes()) {
      SCOPED_TRACE(scheme.name);
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const bool is_decoding = ++seed % 2 == 0;
        const std::int64_t batch = scheme.batches_only ? 2 : 0;
        SchemeCall call(scheme, is_decoding ? causal(3, 67, batch) : causal(33, 33, batch), near_by(scheme), seed);
        FusedCall fused(call, dtype, turns_at(seed / 2));
        const SchemeCall::Result wanted = fused.by_kernels(isa);
        for (const Edge edge : {Edge::begin, Edge::end}) {
          expect_same(fused.by_kernels(isa, {.guard = edge}), wanted);
          if (scheme.batches_only) continue;
          expect_same(fused.by_kernels(isa, {.block_size = 1, .guard = edge}), wanted);
        }
      }
    }
  }
}

constexpr std::int64_t kKeys = 80;

// A causal call of so many last queries, of which those before `first` of the keys do not see it.
struct CausalCall {
  SchemeCall call;
  std::int64_t first;
  std::int64_t rows;  // of lse and, times value_dim, of out: of the queries that do not see key `first`

  // That key, and those after it.
  auto later(Tensor& x) const {
    return std::span(x.values).subspan(static_cast<std::size_t>(first * call.layer.kv_heads * x.shape.back()));
  }
  std::int64_t outputs() const { return rows * call.layer.value_dim; }
};

// use(CausalCall&, Isa): for every scheme and instruction set, many queries and few.
template <typename Use>
void for_causal_calls(const std::string& suite, const Use& use) {
  for (const Isa isa : every_isa(suite)) {
    std::uint64_t seed = kSeed;
    for (const SchemeCase& scheme : all_schemes()) {
      if (scheme.batches_only) continue;  // half of them are read from the end
      SCOPED_TRACE(scheme.name);
      for (const auto& [queries, first] : {std::pair<std::int64_t, std::int64_t>{kKeys, 37}, {3, kKeys - 1}}) {
        SCOPED_TRACE(queries);
        CausalCall made{{scheme, causal(queries, kKeys), near_by(scheme), ++seed}, first, first - (kKeys - queries)};
        made.rows *= made.call.layer.heads;
        use(made, isa);
      }
    }
  }
}

// Keys and values after a causal layer's query may be anything that is a number.
TEST(FusedLayers, DoNotKnowWhatComesLater) {
  for_causal_calls("fused layers, later keys", [](CausalCall& of, Isa isa) {
    const SchemeCall::Result before = FusedCall(of.call).by_kernels(isa);
    for (Tensor* const x : {&of.call.k, &of.call.v}) {
      for (double& later : of.later(*x)) later = 3.0 - 2.0 * later;
    }
    const SchemeCall::Result after = FusedCall(of.call).by_kernels(isa);
    EXPECT_TRUE(std::equal(before.lse.begin(), before.lse.begin() + of.rows, after.lse.begin()));
    EXPECT_TRUE(std::equal(before.out.begin(), before.out.begin() + of.outputs(), after.out.begin()));
    EXPECT_NE(before.out, after.out);
  });
}

// Nor anything that is none. Values are added in another way there, those of bfloat16 without being rounded to it.
TEST(FusedLayers, DoNotKnowWhatIsNoNumberLater) {
  for (const Products products : {Products::f32, Products::bf16}) {
    for_causal_calls("fused layers, later keys that are no numbers", [&](CausalCall& of, Isa isa) {
      const SchemeCall::Result before = FusedCall(of.call, DType::f32, products).by_kernels(isa);
      double largest = 0;
      for (const double v : of.call.v.values) largest = std::max(largest, std::abs(v));
      for (Tensor* const x : {&of.call.k, &of.call.v}) {
        std::ranges::fill(of.later(*x), std::numeric_limits<double>::quiet_NaN());
      }
      const SchemeCall::Result after = FusedCall(of.call, DType::f32, products).by_kernels(isa);
      EXPECT_TRUE(std::equal(before.lse.begin(), before.lse.begin() + of.rows, after.lse.begin()));
      const double apart = reordered_mean_bound(kKeys, largest, products == Products::bf16);
      for (std::size_t n = 0; n < static_cast<std::size_t>(of.outputs()); ++n) {
        ASSERT_NEAR(after.out[n], before.out[n], apart) << n;
      }
      EXPECT_TRUE(std::isnan(after.out.back()) && std::isnan(after.lse.back()));
    });
  }
}

// A key that is no number: none is what every row gets that sees it, and no other row.
TEST(FusedLayers, PassOnWhatIsNoNumber) {
  for_causal_calls("fused layers, a key that is no number", [](CausalCall& of, Isa isa) {
    const SchemeCall::Result before = FusedCall(of.call).by_kernels(isa);
    const auto width = static_cast<std::size_t>(of.call.layer.kv_heads * of.call.k.shape.back());
    std::ranges::fill(of.later(of.call.k).first(width), std::numeric_limits<double>::quiet_NaN());
    const SchemeCall::Result after = FusedCall(of.call).by_kernels(isa);
    EXPECT_TRUE(std::equal(before.lse.begin(), before.lse.begin() + of.rows, after.lse.begin()));
    EXPECT_TRUE(std::equal(before.out.begin(), before.out.begin() + of.outputs(), after.out.begin()));
    const auto is_none = [](double x) { return std::isnan(x); };
    EXPECT_TRUE(std::all_of(after.lse.begin() + of.rows, after.lse.end(), is_none));
    EXPECT_TRUE(std::all_of(after.out.begin() + of.outputs(), after.out.end(), is_none));
  });
}

// Nor does a mask: a value that is no number reaches every row that attends to its key, one whose weight is 0 in floats
// too, whatever other keys of the tile it hides from another row.
TEST(FusedLayers, PassOnValuesThatAllRowsSee) {
  constexpr std::int64_t kHeads = 2;
  constexpr std::int64_t kDim = 16;
  constexpr std::int64_t kTokens = 60;  // of a tile
  const LayerPlan layer{.heads = kHeads, .kv_heads = 1, .head_dim = kDim, .value_dim = kDim, .softmax_scale = 1};
  std::vector<float> k(kTokens * kDim, 1.0F);
  std::fill_n(k.begin(), kDim, -100.0F);  // scores are -1600 beside 16
  std::vector<float> v(kTokens * kDim, 1.0F);
  v[3] = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : every_isa("fused layers, a value that is no number")) {
    for (const std::int64_t queries : {1, 2, 40}) {  // streamed, and of several blocks
      const std::vector<float> q(static_cast<std::size_t>(queries * kHeads * kDim), 1.0F);
      std::vector<float> out(q.size());
      ASSERT_TRUE(attend(layer, {.out = tensor(out.data(), {queries, kHeads, kDim}),
                                 .q = tensor(q.data(), {queries, kHeads, kDim}),
                                 .k = tensor(std::as_const(k).data(), {kTokens, 1, kDim}),
                                 .v = tensor(std::as_const(v).data(), {kTokens, 1, kDim}),
                                 .isa = isa}));
      for (std::size_t n = 0; n < out.size(); ++n) {
        EXPECT_EQ(std::isnan(out[n]), n % kDim == 3) << name(isa) << ", " << queries << " queries, " << n;
      }
    }
  }
}

// A query that sees no key: zeros and -inf, whatever else the layer has.
TEST(FusedLayers, GiveNothingWhereNothingIsSeen) {
  for (const Isa isa : every_isa("fused layers, nothing seen")) {
    for (const SchemeCase& scheme : all_schemes()) {
      SCOPED_TRACE(scheme.name);
      SchemeCall call(scheme, causal(9, 4, scheme.batches_only ? 2 : 0), Places::scattered, kSeed);
      const SchemeCall::Result is = FusedCall(call).by_kernels(isa);
      const bool is_batch = scheme.batches_only;
      for (std::size_t row = 0; row < is.lse.size(); ++row) {
        const std::size_t token = is_batch ? row % 9 : row / static_cast<std::size_t>(call.layer.heads);
        const bool sees = token >= 5;
        EXPECT_EQ(std::isinf(is.lse[row]), !sees);
        for (std::size_t c = 0; c < static_cast<std::size_t>(call.layer.value_dim); ++c) {
          const double out = is.out[row * static_cast<std::size_t>(call.layer.value_dim) + c];
          EXPECT_TRUE(sees ? std::isfinite(out) : out == 0.0) << row;
        }
      }
    }
  }
}

// Of the heap a call may have what grows with queries and with keys, but not with both.
TEST(FusedLayers, AllocateNothingOfQueriesTimesKeys) {
  const auto bytes = [](const SchemeCase& scheme, std::int64_t tokens) {
    SchemeCall call(scheme, causal(tokens, tokens, scheme.batches_only ? 2 : 0), near_by(scheme), kSeed);
    FusedCall fused(call);
    const HeapProbe probe;
    fused.by_kernels(Isa::automatic);
    return probe.peak_growth();
  };
  for (const SchemeCase& scheme : all_schemes()) {
    SCOPED_TRACE(scheme.name);
    const std::int64_t at_256 = bytes(scheme, 256);
    EXPECT_LE(bytes(scheme, 512), 2 * at_256 + 4096);
  }
}

// ---- tiles that are computed ----

struct Counted {
  std::string name;
  Mask mask;
  // First and last key that queries first .. last may see together.
  std::int64_t (*low)(std::int64_t first);
  std::int64_t (*high)(std::int64_t last);
};

constexpr std::int64_t kTokens = 700;
constexpr std::int64_t kPast = 130;
constexpr std::int64_t kFuture = 20;
constexpr std::int64_t kChunk = 200;
constexpr std::int64_t kPrefix = 150;

std::vector<Counted> counted() {
  const auto zero = [](std::int64_t) -> std::int64_t { return 0; };
  const auto own = [](std::int64_t last) { return last; };
  const auto end = [](std::int64_t) { return kTokens - 1; };
  return {
      {"causal", {.kind = MaskKind::causal}, zero, own},
      {"bidirectional", {.kind = MaskKind::bidirectional}, zero, end},
      {"causal window",
       {.kind = MaskKind::causal, .window = Window{.past = kPast}},
       [](std::int64_t first) { return std::max<std::int64_t>(0, first - kPast); },
       own},
      {"window",
       {.kind = MaskKind::bidirectional, .window = Window{.past = kPast, .future = kFuture}},
       [](std::int64_t first) { return std::max<std::int64_t>(0, first - kPast); },
       [](std::int64_t last) { return std::min(kTokens - 1, last + kFuture); }},
      {"chunks",
       {.kind = MaskKind::causal, .chunk = kChunk},
       [](std::int64_t first) { return first / kChunk * kChunk; },
       own},
      {"prefix", {.kind = MaskKind::prefix}, zero, [](std::int64_t last) { return std::max(last, kPrefix - 1); }},
  };
}

// Floats of a register.
std::int64_t lanes_of(Isa isa) {
  switch (isa) {
    case Isa::scalar: return 2;
    case Isa::neon: return 4;
    case Isa::avx2: return 8;
    default: return 16;
  }
}

// Blocks are of 3 registers of queries of one head, tiles of 64 keys; a tile is computed where a block's first query
// to its last see any of it together.
TEST(FusedLayers, LeaveOutTilesThatNobodySees) {
  constexpr std::int64_t kTile = 64;
  for (const Isa isa : every_isa("fused layers, tiles")) {
    const std::int64_t lanes = 3 * lanes_of(isa);
    for (const Counted& one : counted()) {
      SCOPED_TRACE(one.name);
      const SchemeCase plain{.name = "plain", .layer = plain_layer()};
      SchemeCall call(plain,
                      {.name = one.name,
                       .mask = one.mask,
                       .queries = kTokens,
                       .keys = kTokens,
                       .prefix = one.mask.kind == MaskKind::prefix ? kPrefix : 0},
                      Places::by_order, kSeed);
      FusedCall fused(call);
      AttendWork work;
      fused.by_kernels(isa, {.threads = 2, .work = &work});
      AttendWork wanted;
      for (std::int64_t first = 0; first < kTokens; first += lanes) {
        const std::int64_t last = std::min(first + lanes, kTokens) - 1;
        const std::int64_t tiles = one.high(last) / kTile - one.low(first) / kTile + 1;
        wanted.tiles += call.layer.heads * tiles;
        wanted.skipped += call.layer.heads * ((kTokens + kTile - 1) / kTile - tiles);
      }
      EXPECT_EQ(work.tiles, wanted.tiles);
      EXPECT_EQ(work.skipped, wanted.skipped);
    }
  }
}

// ALiBi leaves far keys less than a float could show: their tiles are left out. With queries of 0 a score is the bias
// alone; with values of 1 at the first keys and 0 at all others, an output is the share of the first keys.
TEST(FusedLayers, LeaveOutWhatAlibiLeavesNothing) {
  constexpr std::int64_t kLong = 384;  // whole units: beside no terms the rest would be cut in another way
  constexpr std::int64_t kFirst = 64;
  for (const Isa isa : every_isa("fused layers, far tiles")) {
    ErrorRatio ratio("shares of far keys, " + std::string(name(isa)));
    for (const bool symmetric : {false, true}) {
      const SchemeCase scheme{.name = "ALiBi", .layer = with_term(Alibi{.heads = kHeads, .symmetric = symmetric})};
      SchemeCall call(scheme,
                      {.name = "all",
                       .mask = {.kind = symmetric ? MaskKind::bidirectional : MaskKind::causal},
                       .queries = kLong,
                       .keys = kLong},
                      Places::by_order, kSeed);
      std::ranges::fill(call.q.values, 0.0);
      std::ranges::fill(call.v.values, 0.0);
      std::fill_n(call.v.values.begin(), kFirst * kKvHeads * kValueDim, 1.0);
      const SchemeCall::Result wanted = call.by_formulas();
      FusedCall fused(call);
      AttendWork work;
      const SchemeCall::Result is = fused.by_kernels(isa, {.work = &work});
      const double farthest = kLong * 0.25;  // the largest slope of 4 heads
      for (std::size_t n = 0; n < is.out.size(); ++n) {
        ratio.add(std::abs(is.out[n] - wanted.out[n]), share_bound(wanted.out[n], farthest, kLong), "ALiBi");
      }
      const std::int64_t left_out = std::ranges::count(is.out, 0.0);
      EXPECT_GT(left_out, std::ranges::count(wanted.out, 0.0));
      SchemeCall plain({.name = "plain", .layer = plain_layer()},
                       {.name = "all", .mask = call.layer.mask, .queries = kLong, .keys = kLong}, Places::by_order,
                       kSeed);
      FusedCall all(plain);
      AttendWork all_work;
      all.by_kernels(isa, {.work = &all_work});
      EXPECT_EQ(work.tiles + work.skipped, all_work.tiles + all_work.skipped);
      EXPECT_LT(work.tiles, all_work.tiles);
    }
    ratio.expect();
  }
}

}  // namespace
}  // namespace posenc::test::fused_invariants_test
