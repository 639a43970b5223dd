// Whose threads a call of attend runs on, and how many, changes no bit of what it writes.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attend/fused/fused_call.h"
#include "posenc/attend.h"
#include "posenc/parallel.h"
#include "support/every_isa.h"
#include "support/random_tensor.h"

namespace posenc::test::threads_test {
namespace {

constexpr std::uint64_t kSeed = 16180;

// A unit is 3 registers of rows at least, so that there are several; and keys are split beside 5 queries.
Arrangement divided(const SchemeCase& scheme, std::uint64_t turn) {
  const bool is_decoding = turn % 4 == 0 && scheme.side == 0 && !scheme.batches_only;
  return {.name = "causal",
          .mask = {.kind = MaskKind::causal},
          .batch = is_decoding ? 0 : 2,
          .queries = is_decoding ? 5 : 70,
          .keys = is_decoding ? 1100 : 70};
}

Places near_by(const SchemeCase& scheme) { return scheme.side == 0 ? Places::run : Places::scattered; }

void expect_same(const SchemeCall::Result& is, const SchemeCall::Result& wanted) {
  EXPECT_EQ(is.out, wanted.out);
  EXPECT_EQ(is.lse, wanted.lse);
}

// Threads of the caller: one for each task.
void on_std_threads(void* runs, std::int64_t tasks, Task task, void* data) {
  ++*static_cast<std::atomic<int>*>(runs);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < tasks; ++i) threads.emplace_back([=] { task(data, i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(AttendThreads, ChangeNoBitOfAnyScheme) {
  for (const Isa isa : every_isa("attend, threads")) {
    std::uint64_t seed = kSeed;
    for (const SchemeCase& scheme : all_schemes()) {
      SCOPED_TRACE(scheme.name);
      ++seed;
      SchemeCall call(scheme, divided(scheme, seed), near_by(scheme), seed);
      FusedCall fused(call);
      const SchemeCall::Result wanted = fused.by_kernels(isa);
      expect_same(fused.by_kernels(isa), wanted);
      for (const std::int64_t threads : {2, 3}) expect_same(fused.by_kernels(isa, {.threads = threads}), wanted);
    }
  }
}

TEST(AttendThreads, MayBeTheCallers) {
  std::atomic<int> runs = 0;
  ThreadPool pool({.threads = 3});
  const std::vector<SchemeCase> all = all_schemes();
  for (std::size_t n = 0; n < all.size(); n += 5) {
    SCOPED_TRACE(all[n].name);
    SchemeCall call(all[n], divided(all[n], n), near_by(all[n]), kSeed + n);
    FusedCall fused(call);
    const SchemeCall::Result wanted = fused.by_kernels(Isa::automatic);
    expect_same(fused.by_kernels(Isa::automatic, {.threads = 0, .executor = pool.executor()}), wanted);
    const int before = runs;
    const Executor own{.context = &runs, .run = on_std_threads, .threads = 2};
    expect_same(fused.by_kernels(Isa::automatic, {.threads = 0, .executor = own}), wanted);
    EXPECT_GT(runs, before) << "was not divided";
  }
}

// Decode: with more threads fewer KV heads share a block. Where a head has values that are not finite, in keys that
// some queries must not see, that head's sums are made in another way; those of the heads beside it are not.
TEST(AttendThreads, ChangeNoBitWhereValuesAreNotFinite) {
  constexpr std::int64_t kQueries = 3;
  constexpr std::int64_t kKeys = 1100;
  constexpr std::int64_t kKvHeads = 8;
  constexpr std::int64_t kDim = 64;
  for (const std::int64_t heads : {kKvHeads, 2 * kKvHeads}) {
    Random random(kSeed);
    const auto floats = [&](std::int64_t count) {
      std::vector<float> out(static_cast<std::size_t>(count));
      for (float& x : out) x = static_cast<float>(random.number());
      return out;
    };
    const std::vector<float> q = floats(kQueries * heads * kDim);
    const std::vector<float> k = floats(kKeys * kKvHeads * kDim);
    std::vector<float> v = floats(kKeys * kKvHeads * kDim);
    const auto value = [&](std::int64_t key, std::int64_t head) -> float& {
      return v[static_cast<std::size_t>((key * kKvHeads + head) * kDim + 5)];
    };
    value(kKeys - 1, 0) = NAN;       // which the last query alone sees
    value(kKeys - 1, 5) = INFINITY;  // likewise
    value(40, 3) = NAN;              // which attn_mask hides from one head's first query
    std::vector<float> visible(static_cast<std::size_t>(heads * kQueries * kKeys), 1.0F);
    visible[static_cast<std::size_t>(heads / kKvHeads * 3 * kQueries * kKeys + 40)] = 0.0F;
    const LayerPlan layer{
        .heads = heads, .kv_heads = kKvHeads, .head_dim = kDim, .value_dim = kDim, .softmax_scale = 0.125};
    for (const Isa isa : every_isa("attend, threads, values that are not finite")) {
      for (const bool masked : {false, true}) {
        std::vector<std::vector<std::uint32_t>> results;
        for (const std::int64_t threads : {1, 2, 4, 8}) {
          std::vector<float> out(q.size());
          AttendArgs args{.out = tensor(out.data(), {kQueries, heads, kDim}),
                          .q = tensor(q.data(), {kQueries, heads, kDim}),
                          .k = tensor(k.data(), {kKeys, kKvHeads, kDim}),
                          .v = tensor(std::as_const(v).data(), {kKeys, kKvHeads, kDim}),
                          .isa = isa};
          if (masked) args.inputs.attn_mask = tensor(std::as_const(visible).data(), {1, heads, kQueries, kKeys});
          std::atomic<int> runs = 0;
          args.parallel = {.executor = {.context = &runs, .run = on_std_threads, .threads = threads}};
          ASSERT_TRUE(attend(layer, args));
          results.emplace_back(out.size());
          std::memcpy(results.back().data(), out.data(), out.size() * sizeof(float));
          // Head 0's NaN and no other head's; of a query that sees it.
          const std::size_t row = 2 * static_cast<std::size_t>(heads * kDim);
          EXPECT_TRUE(std::isnan(out[row + 5]));
          EXPECT_TRUE(std::isfinite(out[row + 4]) && std::isfinite(out[5]));
        }
        for (std::size_t i = 1; i < results.size(); ++i) {
          EXPECT_EQ(results[i], results[0])
              << name(isa) << ", " << heads << " heads, way " << i << ", masked " << masked;
        }
      }
    }
  }
}

// A layer that is prepared is shared by calls at the same time, and by their threads.
TEST(AttendThreads, MayShareAPreparedLayer) {
  const std::vector<SchemeCase> all = all_schemes();
  for (std::size_t n = 1; n < all.size(); n += 3) {
    SCOPED_TRACE(all[n].name);
    SchemeCall call(all[n], divided(all[n], n), near_by(all[n]), kSeed + n);
    FusedCall fused(call);
    const SchemeCall::Result wanted = fused.by_kernels(Isa::automatic);
    const PreparedLayer prepared = prepare_layer(call.layer, call.weights, {.parallel = {.threads = 2}});
    std::vector<SchemeCall::Result> results(2);
    std::vector<std::thread> callers;
    for (SchemeCall::Result& result : results) {
      callers.emplace_back([&] { result = fused.by_kernels(Isa::automatic, {.threads = 2, .prepared = &prepared}); });
    }
    for (std::thread& caller : callers) caller.join();
    for (const SchemeCall::Result& result : results) expect_same(result, wanted);
  }
}

// Calls at the same time share a layer, its weights, their inputs and the process's threads.
TEST(AttendThreads, MayCallAtTheSameTime) {
  constexpr int kCallers = 3;
  const std::vector<SchemeCase> all = all_schemes();
  for (std::size_t n = 2; n < all.size(); n += 5) {
    SCOPED_TRACE(all[n].name);
    SchemeCall call(all[n], divided(all[n], n), near_by(all[n]), kSeed + n);
    FusedCall fused(call);
    const SchemeCall::Result wanted = fused.by_kernels(Isa::automatic);
    std::vector<SchemeCall::Result> results(kCallers);
    std::vector<std::thread> callers;
    for (SchemeCall::Result& result : results) {
      callers.emplace_back([&] { result = fused.by_kernels(Isa::automatic, {.threads = 2}); });
    }
    for (std::thread& caller : callers) caller.join();
    for (const SchemeCall::Result& result : results) expect_same(result, wanted);
  }
}

}  // namespace
}  // namespace posenc::test::threads_test
