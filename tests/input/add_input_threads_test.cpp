// Whose threads add_input runs on, and how many, changes no bit of what it writes; a callback ends it.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "input/embeddings.h"
#include "posenc/add_input.h"
#include "posenc/parallel.h"
#include "support/every_isa.h"

namespace posenc::test::add_input_threads_test {
namespace {

constexpr std::int64_t kChannels = 256;
constexpr std::int64_t kTokens = 517;  // no whole number of blocks

void on_std_threads(void* runs, std::int64_t tasks, Task task, void* data) {
  ++*static_cast<std::int64_t*>(runs);
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < tasks; ++i) threads.emplace_back([=] { task(data, i); });
  for (std::thread& thread : threads) thread.join();
}

class AddInputThreads : public ::testing::Test {
 protected:
  Embeddings embeddings(RowLayout layout, DType dtype, std::int64_t tokens = kTokens) {
    return Embeddings(rows_laid_out(layout, dtype, 2, tokens, kChannels), random_);
  }

  std::mt19937_64 random_{1729};
  ThreadPool pool_{{.threads = 3}};
};

TEST_F(AddInputThreads, ChangeNothing) {
  Embeddings table = embeddings(RowLayout::rows, DType::bf16, 600);
  std::vector<std::int64_t> each(2 * kTokens);
  for (std::int64_t& place : each) place = static_cast<std::int64_t>(random_() % 600);
  const std::vector<std::pair<InputScheme, InputWeights>> inputs = {
      {LearnedInput{}, LearnedInputWeights{.positions = table.view()}},
      {SinusoidalInput{.convention = SinusoidConvention::marian}, {}},
      {SinusoidalInput{}, {}},
      {IntegerInput{}, {}},
  };
  std::int64_t runs = 0;
  for (const auto& [scheme, weights] : inputs) {
    const PreparedInput prepared = prepare_input(scheme, weights, {.channels = kChannels, .start = 5, .count = 100});
    for (const DType dtype : kInputDTypes) {
      for (const RowLayout layout : {RowLayout::batch, RowLayout::tokens_first}) {
        Embeddings x = embeddings(layout, dtype);
        const std::vector<std::byte> before = x.memory();
        for (const Positions& positions :
             {Positions(PositionRange{50}), Positions(std::span<const std::int64_t>(each))}) {
          for (const Isa isa : supported_isas()) {
            const auto add = [&](const Parallel& parallel) {
              x.restore(before);
              EXPECT_TRUE(
                  add_input(prepared, {.x = x.view(), .positions = positions, .parallel = parallel, .isa = isa}));
              return x.memory();
            };
            const std::vector<std::byte> alone = add({.threads = 1});
            EXPECT_TRUE(alone != before);
            const std::int64_t runs_before = runs;
            const Parallel callers{.executor = {.context = &runs, .run = on_std_threads, .threads = 2}};
            for (const Parallel& parallel : {Parallel{.threads = 2}, Parallel{.executor = pool_.executor()}, callers}) {
              EXPECT_TRUE(add(parallel) == alone)
                  << scheme.index() << ", " << name(dtype) << ", " << name(layout) << ", " << name(isa);
            }
            EXPECT_EQ(runs, runs_before + 1) << "was not divided";
          }
        }
      }
    }
  }
}

// Asked after 16 MiB, of 20.
TEST_F(AddInputThreads, KeepGoing) {
  Embeddings x = embeddings(RowLayout::rows, DType::f32, 20 * 1024);
  const PreparedInput prepared = prepare_input(IntegerInput{.offset = 1}, {}, {.channels = kChannels});
  int asked = 0;
  const auto add = [&](const std::function<bool()>& keep_going) {
    return add_input(prepared, {.x = x.view(), .parallel = {.threads = 1}, .keep_going = keep_going});
  };
  EXPECT_TRUE(add([&] { return ++asked > 0; }));
  EXPECT_EQ(asked, 1);
  const float first = *static_cast<const float*>(x.view().data);
  const float last = static_cast<const float*>(x.view().data)[20 * 1024 * kChannels - 1];
  EXPECT_FALSE(add([] { return false; }));
  EXPECT_NE(*static_cast<const float*>(x.view().data), first);
  EXPECT_EQ(static_cast<const float*>(x.view().data)[20 * 1024 * kChannels - 1], last);
  EXPECT_THROW((void)add([]() -> bool { throw std::runtime_error("enough"); }), std::runtime_error);
}

}  // namespace
}  // namespace posenc::test::add_input_threads_test
