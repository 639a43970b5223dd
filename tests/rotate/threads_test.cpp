// Whose threads a call runs on, and how many, changes no bit of what it writes. The tensors are large enough to be
// divided, and for lines to be fetched ahead of their use.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "posenc/cache.h"
#include "posenc/parallel.h"
#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "support/every_isa.h"

namespace posenc::test::threads_test {
namespace {

constexpr std::int64_t kTokens = 160;
constexpr std::int64_t kHeads = 4;

// Threads of the caller: one for each task, and what came of it.
void on_std_threads(void* runs, std::int64_t tasks, Task task, void* data) {
  ++*static_cast<std::int64_t*>(runs);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < tasks; ++i) threads.emplace_back([=] { task(data, i); });
  for (std::thread& thread : threads) thread.join();
}

class RotateThreads : public ::testing::Test {
 protected:
  // The call writes `outputs`, and the same bytes of them whatever it is given.
  template <typename Call>
  void expect_same_result(const std::vector<Heads*>& outputs, const std::string& what, const Call& call) {
    const std::vector<std::vector<std::byte>> before = memory(outputs);
    call(Parallel{.threads = 1});
    const std::vector<std::vector<std::byte>> alone = memory(outputs);
    restore(outputs, before);
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(alone[i] != before[i]) << what << " wrote nothing";

    const std::int64_t runs = runs_;
    const std::pair<const char*, Parallel> ways[] = {
        {"the process's pool", {.threads = 2}},
        {"a pool", {.executor = pool_.executor()}},
        {"a part of a pool", {.threads = 2, .executor = pool_.executor()}},
        {"the caller's", {.executor = {.context = &runs_, .run = on_std_threads, .threads = 2}}},
    };
    for (const auto& [name, parallel] : ways) {
      call(parallel);
      EXPECT_TRUE(memory(outputs) == alone) << what << ", on the threads of " << name;
      restore(outputs, before);
    }
    EXPECT_EQ(runs_, runs + 1) << what << " was not divided";
  }

  static std::vector<std::vector<std::byte>> memory(const std::vector<Heads*>& outputs) {
    std::vector<std::vector<std::byte>> out;
    for (const Heads* each : outputs) out.push_back(each->memory());
    return out;
  }
  static void restore(const std::vector<Heads*>& outputs, const std::vector<std::vector<std::byte>>& memory) {
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i]->restore(memory[i]);
  }

  Heads heads(Layout layout, DType dtype, std::int64_t tokens = kTokens) {
    return Heads(laid_out(layout, dtype, {2, tokens, kHeads, rope_.head_dim}), random_);
  }

  std::mt19937_64 random_{1729};
  ThreadPool pool_{{.threads = 3}};
  const Rope rope_{.pairing = Pairing::half, .head_dim = 128, .dim = 128};
  const RotaryTable table_ = make_table(rope_, {.count = 1000});

 private:
  std::int64_t runs_ = 0;
};

TEST_F(RotateThreads, Rotate) {
  Suite suite("threads");
  for (const DType dtype : kDTypes) {
    for (const Layout layout : {Layout::thd, Layout::bhtd, Layout::reversed}) {
      Heads q = heads(layout, dtype);
      Heads k = heads(layout, dtype);
      Heads to = heads(layout, dtype);
      for (const Isa isa : supported_isas()) {
        const std::string what = std::string(name(layout)) + ", " + std::string(name(isa));
        RotateArgs args{.q = q.view(), .k = k.view(), .positions = PositionRange{300}, .table = &table_, .isa = isa};
        const auto rotation = [&](const Parallel& parallel) {
          args.parallel = parallel;
          (void)rotate(args);
        };
        expect_same_result({&q, &k}, what, rotation);
        args.q = to.view();
        args.q_from = q.view();
        args.k = {};
        expect_same_result({&to}, "out of place, " + what, rotation);
        suite.ran(isa);
      }
    }
  }
  suite.expect_ran();
}

// Each thread makes the rows that it needs.
TEST_F(RotateThreads, RotateByATableOnDemand) {
  const RotaryTable on_demand = table_on_demand(rope_);
  Heads q = heads(Layout::thd, DType::bf16);
  expect_same_result({&q}, "rotate", [&](const Parallel& parallel) {
    (void)rotate({.q = q.view(), .positions = PositionRange{300}, .table = &on_demand, .parallel = parallel});
  });
}

TEST_F(RotateThreads, Rerotate) {
  for (const DType dtype : kDTypes) {
    Heads k = heads(Layout::gaps, dtype);
    expect_same_result({&k}, "rerotate", [&](const Parallel& parallel) {
      (void)rerotate({.k = k.view(),
                      .from_table = &table_,
                      .from_positions = PositionRange{300},
                      .to_table = &table_,
                      .to_positions = PositionRange{0},
                      .parallel = parallel});
    });
  }
}

class CacheThreads : public RotateThreads {
 protected:
  CacheThreads() {
    std::iota(slots_.begin(), slots_.end(), std::int64_t{0});
    std::ranges::shuffle(slots_, random_);
    slots_.resize(kTokens);
    slots_[17] = -1;
  }

  // Of the tokens first .. first + count.
  CacheArgs args(std::int64_t first, std::int64_t count) {
    return {.k = part(k_.view(), first, count),
            .v = part(v_.view(), first, count),
            .positions = PositionRange{first},
            .table = &table_,
            .norm = KeyNorm{.scheme = {.weighted = false}},
            .k_cache = k_cache_.view(),
            .v_cache = v_cache_.view(),
            .slots = std::span(slots_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count))};
  }

  std::vector<std::int64_t> slots_ = std::vector<std::int64_t>(kTokens + 50);
  Heads k_ = heads(Layout::thd, DType::f32);
  Heads v_ = heads(Layout::htd, DType::bf16);
  Heads k_cache_ = heads(Layout::thd, DType::f16, kTokens + 50);
  Heads v_cache_ = heads(Layout::gaps, DType::bf16, kTokens + 50);

 private:
  static ConstTensorView part(ConstTensorView view, std::int64_t first, std::int64_t count) {
    view.data = static_cast<const std::byte*>(view.data) + first * view.strides[0] * bytes_of(view.dtype);
    view.shape[0] = count;
    return view;
  }
};

TEST_F(CacheThreads, RotateIntoCache) {
  CacheArgs all = args(0, kTokens);
  for (const Isa isa : every_isa("threads, into a cache")) {
    all.isa = isa;
    expect_same_result({&k_cache_, &v_cache_}, std::string(name(isa)), [&](const Parallel& parallel) {
      all.parallel = parallel;
      (void)rotate_into_cache(all);
    });
  }
}

// Two callers at the same time, with one table and one pool, store rows of their own in one cache.
TEST_F(CacheThreads, TwoCallersShareACache) {
  const std::vector<Heads*> caches{&k_cache_, &v_cache_};
  const std::vector<std::vector<std::byte>> before = memory(caches);
  (void)rotate_into_cache(args(0, kTokens));
  const std::vector<std::vector<std::byte>> together = memory(caches);
  restore(caches, before);
  const auto store = [this](std::int64_t first, std::int64_t count) {
    CacheArgs own = args(first, count);
    own.parallel = {.executor = pool_.executor()};
    (void)rotate_into_cache(own);
  };
  std::thread other(store, 0, kTokens / 2);
  store(kTokens / 2, kTokens - kTokens / 2);
  other.join();
  EXPECT_TRUE(memory(caches) == together);
}

}  // namespace
}  // namespace posenc::test::threads_test
