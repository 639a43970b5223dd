// Whose threads a call of attend_backward runs on, and how many, changes no bit of what it writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "attend/backward/kernel_gradients.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"

namespace posenc::test::backward_threads_test {
namespace {

constexpr std::uint64_t kSeed = 161803;

// Several units of each KV head.
Arrangement divided(const SchemeCase& scheme, std::uint64_t turn) {
  const bool is_packed = turn % 3 == 0 && !scheme.batches_only;
  if (!is_packed) {
    return {.name = "causal", .mask = {.kind = MaskKind::causal}, .batch = 2, .queries = 130, .keys = 130};
  }
  return {.name = "packed",
          .mask = {.kind = MaskKind::bidirectional},
          .queries = 210,
          .keys = 210,
          .cu_seqlens_q = {0, 5, 205, 210},
          .cu_seqlens_k = {0, 70, 205, 210}};
}

Places near_by(const SchemeCase& scheme) { return scheme.side == 0 ? Places::run : Places::scattered; }

void expect_same(const Gradients& is, const Gradients& wanted) {
  ASSERT_EQ(is.all.size(), wanted.all.size());
  for (std::size_t n = 0; n < is.all.size(); ++n) EXPECT_EQ(is.all[n].values, wanted.all[n].values) << is.all[n].name;
}

// Threads of the caller: one for each task.
void on_std_threads(void* runs, std::int64_t tasks, Task task, void* data) {
  ++*static_cast<std::atomic<int>*>(runs);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < tasks; ++i) threads.emplace_back([=] { task(data, i); });
  for (std::thread& thread : threads) thread.join();
}

// All of them on the calling thread, the last first.
void backwards(void*, std::int64_t tasks, Task task, void* data) {
  for (std::int64_t i = tasks; i-- > 0;) task(data, i);
}

TEST(BackwardThreads, ChangeNoBitOfAnyScheme) {
  for (const Isa isa : every_isa("attend_backward, threads")) {
    std::uint64_t seed = kSeed;
    for (const SchemeCase& scheme : all_schemes()) {
      SCOPED_TRACE(scheme.name);
      ++seed;
      KernelGradients gradients(scheme, divided(scheme, seed), near_by(scheme), seed);
      const Gradients wanted = gradients.by_kernels(isa);
      for (const std::int64_t threads : {1, 2, 3}) expect_same(gradients.by_kernels(isa, {.threads = threads}), wanted);
    }
  }
}

// One bias for all heads and members of the batch: whose turn it is matters.
TEST(BackwardThreads, ChangeNoBitOfABiasThatAllShare) {
  const SchemeCase scheme{.name = "bias", .layer = plain_layer()};
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{130, 130}, {1, kHeads, 130, 1}}) {
    KernelGradients gradients(scheme, divided(scheme, 1), Places::by_order, kSeed, DType::f32, shape);
    const Gradients wanted = gradients.by_kernels(Isa::automatic);
    for (const std::int64_t threads : {2, 3, 8}) {
      expect_same(gradients.by_kernels(Isa::automatic, {.threads = threads}), wanted);
    }
  }
}

TEST(BackwardThreads, MayBeTheCallers) {
  std::atomic<int> runs = 0;
  const std::vector<SchemeCase> all = all_schemes();
  for (std::size_t n = 0; n < all.size(); n += 7) {
    SCOPED_TRACE(all[n].name);
    KernelGradients gradients(all[n], divided(all[n], n), near_by(all[n]), kSeed + n);
    const Gradients wanted = gradients.by_kernels(Isa::automatic);
    const int before = runs;
    const Executor own{.context = &runs, .run = on_std_threads, .threads = 5};
    expect_same(gradients.by_kernels(Isa::automatic, {.threads = 0, .executor = own}), wanted);
    EXPECT_GT(runs, before) << "was not divided";
    const Executor one_by_one{.context = nullptr, .run = backwards, .threads = 4};
    expect_same(gradients.by_kernels(Isa::automatic, {.threads = 0, .executor = one_by_one}), wanted);
  }
}

// Every second unit of queries sees none of the keys: those after them wait for those before all the same.
TEST(BackwardThreads, WaitForUnitsThatOthersPassBy) {
  constexpr std::int64_t kUnit = 384;  // eight blocks of the widest registers
  constexpr std::int64_t kQueries = 4 * kUnit;
  constexpr std::int64_t kKeys = 2048;
  constexpr std::int64_t kDim = 64;
  std::uint32_t state = 7;
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> out;
    for (std::int64_t n = 0; n < count; ++n) {
      state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
      out.push_back(static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F);
    }
    return out;
  };
  std::vector<float> q = numbers(kQueries * kDim);
  std::vector<float> k = numbers(kKeys * kDim);
  std::vector<float> d_out = numbers(kQueries * kDim);
  std::vector<float> v = numbers(kKeys * kDim);
  std::vector<float> out = numbers(kQueries * kDim);
  std::vector<float> lse(kQueries, 5.0F);
  std::vector<float> visible(kQueries * kKeys, 1.0F);
  for (std::int64_t row = kUnit; row < kQueries; row += 2 * kUnit) {
    std::fill_n(visible.begin() + row * kKeys, kUnit * kKeys, 0.0F);
  }
  const auto view = [](std::vector<float>& x) {
    return tensor(x.data(), {static_cast<std::int64_t>(x.size()) / kDim, 1, kDim});
  };
  const LayerPlan layer{.heads = 1, .kv_heads = 1, .head_dim = kDim, .value_dim = kDim};
  const LayerInputs inputs{.attn_mask = tensor(visible.data(), {kQueries, kKeys})};
  std::atomic<int> runs = 0;
  const Executor own{.context = &runs, .run = on_std_threads, .threads = 4};  // however many cores there are
  const auto gradients = [&](const Parallel& parallel) {
    std::vector<float> d_k(kKeys * kDim);
    EXPECT_TRUE(attend_backward(layer, {.q = view(q),
                                        .k = view(k),
                                        .v = view(v),
                                        .inputs = inputs,
                                        .out = view(out),
                                        .lse = tensor(lse.data(), {kQueries, 1}),
                                        .d_out = view(d_out),
                                        .d_k = view(d_k),
                                        .parallel = parallel}));
    return d_k;
  };
  const std::vector<float> wanted = gradients({.threads = 1});
  for (int call = 0; call < 4; ++call) EXPECT_EQ(gradients({.threads = 0, .executor = own}), wanted);
}

}  // namespace
}  // namespace posenc::test::backward_threads_test
