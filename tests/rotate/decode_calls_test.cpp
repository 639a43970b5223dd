// Calls as engines make them for every token of every layer: they take nothing from the heap and ask for no thread.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/heads.h"
#include "support/heap_probe.h"
#include "support/ropes.h"

namespace posenc::test::decode_calls_test {
namespace {

constexpr std::int64_t kSequences = 8;
constexpr std::int64_t kDim = 128;

// Counts what it is asked.
void run_here(void* runs, std::int64_t tasks, Task task, void* data) {
  ++*static_cast<std::int64_t*>(runs);
  for (std::int64_t i = 0; i < tasks; ++i) task(data, i);
}

class DecodeCalls : public testing::Test {
 protected:
  // `call` with the caller's threads, whom it could ask.
  template <typename Call>
  void expect_nothing_taken(const std::string& what, const Call& call) {
    std::int64_t runs = 0;
    const Parallel parallel{.executor = {.context = &runs, .run = run_here, .threads = 4}};
    call(parallel);  // the first call of a process finds out what the machine can do
    const HeapProbe probe;
    call(parallel);
    EXPECT_EQ(probe.allocations(), 0) << what;
    EXPECT_EQ(runs, 0) << what;
  }

  Heads heads(Layout layout, std::int64_t batch, std::int64_t tokens, std::int64_t count) {
    return Heads(laid_out(layout, DType::bf16, {batch, tokens, count, kDim}), random_);
  }

  std::mt19937_64 random_{42};
  const RotaryTable held_ = make_table(plain_rope(kDim), {.count = 1000});
  const RotaryTable on_demand_ = table_on_demand(plain_rope(kDim));
  const std::vector<std::int64_t> places_{3, 999, 0, 17, 500, 500, 1, 64};
};

TEST_F(DecodeCalls, OfOneToken) {
  Heads q = heads(Layout::thd, 1, 1, 32);
  Heads k = heads(Layout::thd, 1, 1, 8);
  Heads out = heads(Layout::gaps, 1, 1, 32);
  for (const RotaryTable* const table : {&held_, &on_demand_}) {
    for (const Direction direction : {Direction::forward, Direction::inverse, Direction::transpose}) {
      expect_nothing_taken("rotate", [&](const Parallel& parallel) {
        (void)rotate({.q = q.view(),
                      .k = k.view(),
                      .positions = PositionRange{700},
                      .table = table,
                      .direction = direction,
                      .parallel = parallel});
        (void)rotate({.q = out.view(),
                      .q_from = q.view(),
                      .positions = PositionRange{700},
                      .table = table,
                      .direction = direction,
                      .parallel = parallel});
      });
    }
    expect_nothing_taken("rerotate", [&](const Parallel& parallel) {
      (void)rerotate({.k = k.view(),
                      .from_table = table,
                      .from_positions = PositionRange{700},
                      .to_table = &held_,
                      .to_positions = PositionRange{0},
                      .parallel = parallel});
    });
  }
}

// A token of each of a few sequences: a batch, and packed with a table for each.
TEST_F(DecodeCalls, OfABatch) {
  Heads batch = heads(Layout::bhtd, kSequences, 1, 8);
  Heads packed = heads(Layout::thd, 1, kSequences, 8);
  const std::vector<std::int32_t> bounds{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int32_t> narrow(places_.begin(), places_.end());
  const std::vector<double> real(places_.begin(), places_.end());
  std::vector<const RotaryTable*> tables(kSequences, &held_);
  tables[2] = &on_demand_;
  for (const Positions& positions : {Positions(places_), Positions(narrow), Positions(real)}) {
    expect_nothing_taken("rotate", [&](const Parallel& parallel) {
      (void)rotate({.k = batch.view(), .positions = positions, .table = &held_, .parallel = parallel});
      (void)rotate({.k = packed.view(), .positions = positions, .table = &on_demand_, .parallel = parallel});
      (void)rotate(
          {.k = packed.view(), .positions = positions, .cu_seqlens = bounds, .tables = tables, .parallel = parallel});
    });
  }
}

TEST_F(DecodeCalls, OfAPagedCache) {
  Heads cache(TensorView{nullptr, DType::bf16, 4, {40, 16, 8, kDim}, {16 * 8 * kDim, 8 * kDim, kDim, 1}}, random_);
  Heads q = heads(Layout::thd, 1, kSequences, 32);
  const std::vector<std::int32_t> bounds{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int32_t> first{31, 16, 0, 40, 7, 8, 32, 1};
  std::vector<std::int32_t> block_table;  // [kSequences, 3]
  for (std::int32_t i = 0; i < 3 * kSequences; ++i) block_table.push_back(39 - i);
  const Pages pages{block_table, first};
  expect_nothing_taken("rotate", [&](const Parallel& parallel) {
    (void)rotate({.q = q.view(),
                  .k = cache.view(),
                  .table = &held_,
                  .cu_seqlens = bounds,
                  .k_pages = pages,
                  .parallel = parallel});
  });
  expect_nothing_taken("rerotate", [&](const Parallel& parallel) {
    (void)rerotate({.k = cache.view(),
                    .from_table = &held_,
                    .from_positions = PositionRange{4},
                    .to_table = &held_,
                    .cu_seqlens = bounds,
                    .k_pages = pages,
                    .parallel = parallel});
  });
}

}  // namespace
}  // namespace posenc::test::decode_calls_test
