// Every scheme in the ring and the tree against the float64 formulas of all tokens, the same bits from run to run, and
// bytes as the formula says.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attend/fused/fused_bounds.h"
#include "attend/lowered_size.h"
#include "attend/scheme_call.h"
#include "cpu/lower/lower.h"
#include "cpu/lower/weight_reader.h"
#include "mpi/counted.h"
#include "mpi/dealt.h"
#include "support/error_ratio.h"
#include "support/tolerances.h"

namespace posenc::test::mpi_test {
namespace {

constexpr std::uint64_t kSeed = 91;
// Two chunks and several windows; under sanitizers, which make the formulas ten times as slow, half as many.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kTokens = 43;
#else
constexpr std::int64_t kTokens = 83;
#endif

// A call, and what all ranks together have made of it, dealt in one way or several.
struct OneCall {
  std::string name;
  SchemeCall call;
  InFloats rounding;
  double merges = 0.0;  // of a ring's parts, at most
  std::vector<Results> ring{};
  std::vector<Results> tree{};

  OneCall(const SchemeCase& scheme, const Arrangement& arrangement, std::uint64_t seed)
      : name(scheme.name + ", " + arrangement.name),
        call(scheme, arrangement, Places::scattered, seed),
        rounding(call) {}
};

struct Ratios {
  ErrorRatio out;
  ErrorRatio lse;
};

// Rows of all ranks, on the one that judges; each has its own, in the order of the batch.
std::vector<float> all_rows(const std::vector<float>& own, const Shard& shard, std::int64_t tokens, std::size_t width,
                            int judge) {
  std::vector<float> spread(static_cast<std::size_t>(tokens) * width);
  for (std::size_t n = 0; n < own.size(); ++n) {
    spread[static_cast<std::size_t>(shard.rows[n / width]) * width + n % width] = own[n];
  }
  std::vector<float> all(spread.size());
  MPI_Reduce(spread.data(), all.data(), static_cast<int>(spread.size()), MPI_FLOAT, MPI_SUM, judge, MPI_COMM_WORLD);
  return all;
}

void run_ring(OneCall& one, Dealing dealing, int judge) {
  Dealt dealt(one.call, dealing, one.call.layer.mask);
  const std::int64_t before = bytes_sent();
  const Results made = dealt.run();
  EXPECT_EQ(bytes_sent() - before, made.sent);
  EXPECT_EQ(made, dealt.run());
  const LayerPlan& layer = one.call.layer;
  const std::vector<RankCost> costs = shard_cost(layer, dealt.queries, dealt.keys, layer.mask, one.call.inputs.prefix,
                                                 {.has_forget_gates = !one.call.inputs.log_forget.empty(),
                                                  .has_segments = !one.call.inputs.q_segments.empty(),
                                                  .sums_along_keys = sums(layer) > 0});
  EXPECT_EQ(made.sent, costs[static_cast<std::size_t>(rank())].forward_sent);
  const auto heads = static_cast<std::size_t>(layer.heads);
  const auto width = heads * static_cast<std::size_t>(layer.value_dim);
  const std::int64_t queries = one.call.sizes.queries;
  one.merges = std::max(one.merges, dealt.merges());
  one.ring.push_back({.out = all_rows(made.out, dealt.own_queries(), queries, width, judge),
                      .lse = all_rows(made.lse, dealt.own_queries(), queries, heads, judge)});
}

// Results go to a parent, and to each child.
std::int64_t tree_neighbours() {
  std::int64_t out = rank() > 0 ? 1 : 0;
  for (int step = 1; step < ranks() && rank() % (2 * step) == 0; step *= 2) out += rank() + step < ranks() ? 1 : 0;
  return out;
}

void run_tree(OneCall& one, Dealing dealing) {
  Dealt dealt(one.call, dealing, one.call.layer.mask);
  const std::int64_t before = bytes_sent();
  const Results made = dealt.run_tree();
  EXPECT_EQ(bytes_sent() - before,
            tree_neighbours() * one.call.sizes.queries * one.call.layer.heads * (one.call.layer.value_dim + 1) * 4);
  EXPECT_EQ(made, dealt.run_tree());
  for (std::vector<float> first : {made.out, made.lse}) {
    const std::vector<float> own = first;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_FLOAT, 0, MPI_COMM_WORLD);
    EXPECT_EQ(first, own);
  }
  one.tree.push_back(made);
}

// All rows against the formulas: errors, and how large they may be.
using Add = std::function<void(bool is_ring, bool is_lse, double error, double bound)>;
void compare(OneCall& one, const Add& add_one) {
  SchemeCall& call = one.call;
  const SchemeCall::Result wanted = call.by_formulas();
  const SchemeCall::Result bounds = fused_bounds(call, wanted, DType::f32);
  const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
  const LoweredSizes sizes(lowered, call, kRotatedInFloats);
  const auto heads = static_cast<std::size_t>(call.layer.heads);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  const auto add = [&](const Results& made, bool is_ring) {
    const double merges = is_ring ? 2.0 * one.merges : 2.0 * ranks();
    for (std::size_t row = 0; row < static_cast<std::size_t>(call.sizes.queries) * heads; ++row) {
      if (!std::isfinite(wanted.lse[row])) {
        EXPECT_EQ(static_cast<double>(made.lse[row]), wanted.lse[row]);
        continue;
      }
      add_one(is_ring, true, std::abs(static_cast<double>(made.lse[row]) - wanted.lse[row]),
              bounds.lse[row] + merges * kFloatRounding * std::abs(wanted.lse[row]));
      for (std::size_t c = 0; c < width; ++c) {
        const Values values = sizes.values(row, c);
        const double bound =
            merged_output(bounds.out[row * width + c], bounds.lse[row], values.half_range, merges, values.largest);
        const double error = std::abs(static_cast<double>(made.out[row * width + c]) - wanted.out[row * width + c]);
        add_one(is_ring, false, error, bound);
      }
    }
  };
  for (const Results& made : one.ring) add(made, true);
  for (const Results& made : one.tree) add(made, false);
}

// Each call is compared by one rank, once all have run, so that the formulas are computed once, by all at a time.
TEST(Mpi, RingAndTreeAreTheWholeForEveryScheme) {
  Ratios ring{ErrorRatio("ring"), ErrorRatio("ring, lse")};
  Ratios tree{ErrorRatio("tree"), ErrorRatio("tree, lse")};
  const std::vector<Arrangement> arrangements = dealt_arrangements(kTokens);
  std::vector<std::unique_ptr<OneCall>> mine;
  std::set<std::pair<std::string, Dealing>> met;
  std::uint64_t turn = 0;
  std::size_t in_rings = 0;
  std::size_t in_trees = 0;
  std::size_t carried = 0;
  bool has_two = false;  // that sum along the keys, in one layer
  for (const SchemeCase& scheme : dealt_schemes()) {
    SCOPED_TRACE(scheme.name);
    // Of ten masks and four dealings in turn, so that neither goes with the other.
    std::vector<Arrangement> asked{arrangements[turn % arrangements.size()]};
    if (is_whole()) asked = arrangements;
    for (const Arrangement& arrangement : asked) {
      SCOPED_TRACE(arrangement.name);
      const int judge = static_cast<int>(turn % static_cast<std::uint64_t>(ranks()));
      auto one = std::make_unique<OneCall>(scheme, arrangement, kSeed + turn);
      for (const Dealing dealing : dealings(scheme.layer, turn + turn / arrangements.size())) {
        met.emplace(arrangement.name, dealing);
        if (one->call.inputs.row_gate.empty()) run_ring(*one, dealing, judge);
        if (sums(scheme.layer) == 0) run_tree(*one, dealing);
      }
      in_rings += one->ring.size();
      in_trees += one->tree.size();
      carried += sums(scheme.layer);
      has_two |= sums(scheme.layer) == 2;
      if (judge == rank()) mine.push_back(std::move(one));
      ++turn;
    }
  }
  EXPECT_GE(in_rings, 40U);
  EXPECT_GE(in_trees, 40U);
  EXPECT_GE(carried, 3U);
  EXPECT_TRUE(has_two);
  EXPECT_GE(met.size(), is_whole() ? 40U : 30U);
  if (rank() == 0) std::printf("%zu rings and %zu trees on %d ranks\n", in_rings, in_trees, ranks());
  for (const std::unique_ptr<OneCall>& one : mine) {
    compare(*one, [&](bool is_ring, bool is_lse, double error, double bound) {
      Ratios& to = is_ring ? ring : tree;
      (is_lse ? to.lse : to.out).add(error, bound, one->name);
    });
  }
  // A rank compares some alone, and so sees less of what is largest.
  const double least = 0.01 / ranks();
  for (const Ratios* const of : {&ring, &tree}) {
    of->out.expect(least);
    of->lse.expect(least);
  }
}

// What others have got wrong, on all ranks alike, so that they agree. tests/mpi/mutants.py puts the same mistakes, and
// those that arguments cannot make, into the code.
TEST(Mpi, MistakesAreSeen) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has no others to mistake";
  const std::vector<Arrangement> arrangements = dealt_arrangements(kTokens);
  using Spoil = std::function<void(Sharding & q, Sharding & k, LayerWeights & weights)>;
  const auto off = [&](const SchemeCase& scheme, const Arrangement& arrangement, Dealing dealing, const Spoil& spoil) {
    SCOPED_TRACE(scheme.name);
    OneCall one(scheme, arrangement, kSeed);
    Dealt dealt(one.call, dealing, one.call.layer.mask);
    Sharding q = dealt.queries;
    Sharding k = dealt.keys;
    LayerWeights weights = one.call.weights;
    spoil(q, k, weights);
    const Results made = dealt.run([&](mpi::RingArgs& args) {
      args.sharding = &q;
      args.key_sharding = &k;
      args.local.weights = weights;
    });
    const auto width = static_cast<std::size_t>(one.call.layer.heads * one.call.layer.value_dim);
    one.merges = dealt.merges();
    one.ring.push_back(
        {.out = all_rows(made.out, dealt.own_queries(), kTokens, width, 0),
         .lse = all_rows(made.lse, dealt.own_queries(), kTokens, static_cast<std::size_t>(one.call.layer.heads), 0)});
    if (rank() > 0) return;
    double largest = 0.0;
    compare(one, [&](bool, bool, double error, double bound) { largest = std::max(largest, error / bound); });
    EXPECT_GT(largest, 10.0);
  };
  const auto count = [](Sharding& of) {
    for (Shard& one : of.ranks) std::iota(one.order.begin(), one.order.end(), 0);
  };
  const SchemeCase plain{.name = "ids", .layer = plain_layer()};
  off(plain, arrangements[0], Dealing::zigzag, [&](Sharding& q, Sharding& k, auto&) { count(q), count(k); });
  off(plain, arrangements[1], Dealing::contiguous, [&](Sharding&, Sharding& k, auto&) { count(k); });
  const SchemeCase rotated{.name = "positions of another rank", .layer = with_rotation(half_rope())};
  off(rotated, arrangements[0], Dealing::contiguous, [&](Sharding&, Sharding& k, auto&) {
    const std::vector<double> first = k.ranks.front().positions;
    for (std::size_t r = 0; r < k.ranks.size(); ++r) {
      const std::vector<double>& other = r + 1 < k.ranks.size() ? k.ranks[r + 1].positions : first;
      std::copy_n(other.begin(), std::min(other.size(), k.ranks[r].positions.size()), k.ranks[r].positions.begin());
    }
  });
  SchemeCase with_sinks{.name = "sinks twice", .layer = plain_layer()};
  with_sinks.layer.sinks = true;
  with_sinks.weights = [](Tables& tables) { return LayerWeights{.sinks = tables({kHeads})}; };
  std::vector<double> twice;
  off(with_sinks, arrangements[0], Dealing::zigzag, [&](Sharding&, Sharding&, LayerWeights& weights) {
    twice = cpu::read_all(weights.sinks);
    for (double& one : twice) one += std::log(2.0);  // 2 exp(s) = exp(s + ln 2)
    weights.sinks = tensor(twice.data(), {kHeads});
  });
}

}  // namespace
}  // namespace posenc::test::mpi_test
