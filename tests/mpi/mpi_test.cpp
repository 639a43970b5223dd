// Every scheme in the ring and the tree against the float64 formulas of all tokens, the same bits from run to run, and
// bytes as the formula says; what is refused is refused by all. Run by mpirun with any number of ranks.
#include "posenc/mpi.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "attend/fused/fused_comparison.h"
#include "attend/lowered_size.h"
#include "attend/scheme_call.h"
#include "cpu/lower/lower.h"
#include "cpu/lower/weight_reader.h"
#include "mpi/dealt.h"
#include "posenc/error.h"
#include "support/all_schemes.h"
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

// Each scheme is compared by one rank, once all have run, so that the formulas are computed once, by all at a time.
class Judges {
 public:
  // Whether this rank is the one.
  bool is_mine(std::uint64_t turn) const {
    return static_cast<int>(turn % static_cast<std::uint64_t>(ranks())) == rank();
  }
  void later(std::function<void()> compare) { later_.push_back(std::move(compare)); }
  void compare() const {
    for (const auto& one : later_) one();
  }

 private:
  std::vector<std::function<void()>> later_;
};

// Rows of all ranks, on the one that judges; each has its own, in the order of the batch.
std::vector<float> all_rows(const std::vector<float>& own, const Shard& shard, std::int64_t tokens, std::size_t width,
                            std::uint64_t turn) {
  std::vector<float> spread(static_cast<std::size_t>(tokens) * width);
  for (std::size_t n = 0; n < own.size(); ++n) {
    spread[static_cast<std::size_t>(shard.rows[n / width]) * width + n % width] = own[n];
  }
  std::vector<float> all(spread.size());
  MPI_Reduce(spread.data(), all.data(), static_cast<int>(spread.size()), MPI_FLOAT, MPI_SUM,
             static_cast<int>(turn % static_cast<std::uint64_t>(ranks())), MPI_COMM_WORLD);
  return all;
}

// A rank compares some schemes alone, and so sees less of what is largest.
double least() { return 0.01 / ranks(); }

bool is_dealt(const SchemeCase& scheme) { return !scheme.batches_only && sums(scheme.layer) <= 1; }

// All rows against the formulas.
void compare(const std::string& name, SchemeCall& call, const Results& made, ErrorRatio& ratio, ErrorRatio& lse_ratio) {
  const SchemeCall::Result wanted = call.by_formulas();
  const SchemeCall::Result bounds = fused_bounds(call, wanted, DType::f32);
  const math::Lowered lowered = cpu::lower(call.layer, call.weights, call.inputs, call.sizes);
  const LoweredSizes sizes(lowered, call, kRotatedInFloats);
  const auto heads = static_cast<std::size_t>(call.layer.heads);
  const auto width = static_cast<std::size_t>(call.layer.value_dim);
  for (std::size_t row = 0; row < static_cast<std::size_t>(kTokens) * heads; ++row) {
    if (!std::isfinite(wanted.lse[row])) {
      EXPECT_EQ(static_cast<double>(made.lse[row]), wanted.lse[row]);
      continue;
    }
    lse_ratio.add(std::abs(static_cast<double>(made.lse[row]) - wanted.lse[row]),
                  bounds.lse[row] + 2 * ranks() * kFloatRounding * std::abs(wanted.lse[row]), name);
    for (std::size_t c = 0; c < width; ++c) {
      const Values values = sizes.values(row, c);
      const double bound =
          merged_output(bounds.out[row * width + c], bounds.lse[row], values.half_range, 2.0 * ranks(), values.largest);
      ratio.add(std::abs(static_cast<double>(made.out[row * width + c]) - wanted.out[row * width + c]), bound, name);
    }
  }
}

// Numbers that floats hold.
void round(SchemeCall& call) {
  for (Tensor* const x : {&call.q, &call.k, &call.v}) {
    for (double& one : x->values) one = static_cast<double>(static_cast<float>(one));
  }
}

const std::vector<Mask> kMasks{{.kind = MaskKind::causal},
                               {.kind = MaskKind::causal, .window = Window{.past = 9}},
                               {.kind = MaskKind::bidirectional},
                               {.kind = MaskKind::causal, .chunk = 20}};

TEST(Mpi, ARingIsTheWholeForEveryScheme) {
  ErrorRatio ratio("ring");
  ErrorRatio lse_ratio("ring, lse");
  std::uint64_t turn = 0;
  std::size_t carried = 0;
  Judges judges;
  for (const SchemeCase& scheme : all_schemes()) {
    if (!is_dealt(scheme)) continue;
    SCOPED_TRACE(scheme.name);
    const bool carries = sums(scheme.layer) > 0;
    const Mask& mask = kMasks[turn % kMasks.size()];
    const auto kept = std::make_shared<SchemeCall>(
        scheme, Arrangement{.name = "dealt", .mask = mask, .queries = kTokens, .keys = kTokens}, Places::scattered,
        kSeed + turn);
    SchemeCall& call = *kept;
    if (!call.inputs.row_gate.empty() || !call.inputs.bias.empty()) continue;
    round(call);
    const auto rounded = std::make_shared<std::vector<double>>();
    if (!call.inputs.log_forget.empty()) {  // those that floats hold, for the formulas too
      *rounded = cpu::read_all(call.inputs.log_forget);
      for (double& one : *rounded) one = static_cast<double>(static_cast<float>(one));
      call.inputs.log_forget = tensor(rounded->data(), {kTokens, call.layer.heads});
    }
    const Dealing dealing = static_cast<Dealing>(carries ? turn % 2 : turn % 4);
    Dealt dealt(call, dealing, mask);
    const Results made = dealt.run();
    EXPECT_EQ(made, dealt.run());
    const std::vector<RankCost> costs = shard_cost(call.layer, dealt.queries, dealt.keys, mask, 0,
                                                   {.has_forget_gates = !call.inputs.log_forget.empty(),
                                                    .has_segments = !dealt.q_segments.empty(),
                                                    .sums_along_keys = carries});
    EXPECT_EQ(made.sent, costs[static_cast<std::size_t>(rank())].forward_sent);
    const auto heads = static_cast<std::size_t>(call.layer.heads);
    const auto width = heads * static_cast<std::size_t>(call.layer.value_dim);
    const Results all{.out = all_rows(made.out, dealt.own_queries(), kTokens, width, turn),
                      .lse = all_rows(made.lse, dealt.own_queries(), kTokens, heads, turn)};
    if (judges.is_mine(turn)) {
      judges.later([kept, rounded, all, name = scheme.name, &ratio, &lse_ratio] {
        compare(name, *kept, all, ratio, lse_ratio);
      });
    }
    carried += carries ? 1 : 0;
    ++turn;
  }
  EXPECT_GE(turn, 40U);
  EXPECT_GE(carried, 2U);
  judges.compare();
  ratio.expect(least());
  lse_ratio.expect(least());
}

TEST(Mpi, ATreeIsTheWholeAndTheSameOnAllRanks) {
  ErrorRatio ratio("tree");
  ErrorRatio lse_ratio("tree, lse");
  std::uint64_t turn = 0;
  Judges judges;
  for (const SchemeCase& scheme : all_schemes()) {
    if (!is_dealt(scheme) || sums(scheme.layer) > 0) continue;
    SCOPED_TRACE(scheme.name);
    const auto kept = std::make_shared<SchemeCall>(
        scheme, Arrangement{.name = "decode", .mask = {.kind = MaskKind::causal}, .queries = kTokens, .keys = kTokens},
        Places::scattered, kSeed + turn);
    SchemeCall& call = *kept;
    if (!call.inputs.row_gate.empty() || !call.inputs.bias.empty() || !call.inputs.q_segments.empty()) continue;
    round(call);
    Dealt dealt(call, Dealing::striped, call.layer.mask);
    const Sharding all = joined(dealt.queries, ranks());
    const Shard& own = dealt.own_keys();
    const LayerPlan& layer = call.layer;
    std::vector<float> q(call.q.values.begin(), call.q.values.end());
    Results made{std::vector<float>(static_cast<std::size_t>(kTokens * layer.heads * layer.value_dim)),
                 std::vector<float>(static_cast<std::size_t>(kTokens * layer.heads))};
    LayerInputs inputs{.q_order = all.ranks[0].order, .k_order = own.order, .length = call.inputs.length};
    if (dealt.queries.axes > 0) {
      inputs.q_positions = std::span<const double>(all.ranks[0].positions);
      inputs.k_positions = std::span<const double>(own.positions);
    }
    const std::int64_t k_rows = std::ssize(own.rows);
    mpi::attend_tree(MPI_COMM_WORLD, layer,
                     {.out = tensor(made.out.data(), {kTokens, layer.heads, layer.value_dim}),
                      .q = tensor(q.data(), {kTokens, layer.heads, layer.head_dim}),
                      .k = tensor(dealt.k.data(), {k_rows, layer.kv_heads, layer.head_dim}),
                      .v = tensor(dealt.v.data(), {k_rows, layer.kv_heads, layer.value_dim}),
                      .weights = call.weights,
                      .inputs = inputs,
                      .lse = tensor(made.lse.data(), {kTokens, layer.heads}),
                      .parallel = {.threads = 1}});
    std::vector<float> first = made.out;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_FLOAT, 0, MPI_COMM_WORLD);
    EXPECT_EQ(first, made.out);
    if (judges.is_mine(turn)) {
      judges.later(
          [kept, made, name = scheme.name, &ratio, &lse_ratio] { compare(name, *kept, made, ratio, lse_ratio); });
    }
    ++turn;
  }
  EXPECT_GE(turn, 35U);
  judges.compare();
  ratio.expect(least());
  lse_ratio.expect(least());
}

TEST(Mpi, WhatOneRankRefusesAllRefuse) {
  SchemeCase scheme{.name = "plain", .layer = plain_layer()};
  SchemeCall call(scheme, {.name = "dealt", .mask = {.kind = MaskKind::causal}, .queries = kTokens, .keys = kTokens},
                  Places::by_order, kSeed);
  const bool is_odd = rank() == ranks() - 1;
  const std::string last = std::to_string(ranks() - 1);
  {
    Dealt dealt(call, Dealing::zigzag, {});
    if (is_odd) call.layer.mask = {.kind = MaskKind::bidirectional};
    EXPECT_EQ(
        error_of([&] { (void)dealt.run(); }),
        "[mpi::attend_ring] layer, shardings, dtypes and inputs must be the same on all ranks but is another on rank " +
            last + " than on rank 0");
    call.layer.mask = {.kind = MaskKind::causal};
  }
  {
    Dealt dealt(call, is_odd ? Dealing::striped : Dealing::zigzag, {});
    EXPECT_NE(error_of([&] { (void)dealt.run(); }).find("must be the same on all ranks"), std::string::npos);
  }
  {
    Dealt dealt(call, Dealing::zigzag, {});
    if (is_odd) dealt.queries = shard({.ranks = ranks() + 1, .tokens = kTokens});
    const std::string said = error_of([&] { (void)dealt.run(); });
    EXPECT_EQ(said, is_odd ? "[mpi::attend_ring] sharding must deal to the " + std::to_string(ranks()) +
                                 " ranks of the communicator but is to " + std::to_string(ranks() + 1)
                           : "[mpi::attend_ring] args must be accepted by all ranks but is refused by rank " + last);
  }
  Dealt dealt(call, Dealing::zigzag, {});
  EXPECT_EQ(error_of([&] { (void)dealt.run(); }), "nothing");
}

}  // namespace
}  // namespace posenc::test::mpi_test

// Every rank runs every test; all end with what any of them found.
int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  testing::InitGoogleTest(&count, arguments);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int own = RUN_ALL_TESTS();
  int any = 0;
  MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
