// Memory that is not there: an operator new that the last rank calls fails, in each call of posenc/mpi.h, alone or with
// all that follow. All ranks throw, until it has all that it asks for; none waits for what never comes. One of some of
// these, in turn; POSENC_WHOLE=1: each.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/error.h"
#include "posenc/mpi.h"
#include "support/failing_new.h"

namespace posenc::test::mpi_no_memory_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kChannels = 8;
constexpr std::int64_t kTokens = 10;  // of each rank
constexpr int kSaid = 3;              // that a rank has thrown nothing, bad_alloc, Error

int rank() {
  int out = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &out);
  return out;
}

int ranks() {
  int out = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &out);
  return out;
}

// What a call of all ranks is given; all ranks have the same numbers.
struct Call {
  LayerPlan layer{.heads = kHeads,
                  .kv_heads = kHeads,
                  .head_dim = kChannels,
                  .value_dim = kChannels,
                  .softmax_scale = 0.25,
                  .mask = {.kind = MaskKind::causal}};
  Sharding sharding = shard({.ranks = ranks(), .dealing = Dealing::contiguous, .tokens = ranks() * kTokens});
  std::vector<float> x = std::vector<float>(kTokens * kHeads * kChannels, 0.25F);
  std::vector<float> out = x;
  std::vector<float> d_q = x;
  std::vector<float> d_k = x;
  std::vector<float> d_v = x;
  std::vector<float> lse = std::vector<float>(kTokens * kHeads);
  std::vector<float> gates = std::vector<float>(kTokens * kHeads, -0.5F);
  std::vector<float> d_gates = gates;
  std::vector<float> carries{};

  template <typename Numbers>
  static auto rows(Numbers& numbers) {
    return tensor(numbers.data(), {kTokens, kHeads, kChannels});
  }
  LayerInputs inputs() {
    LayerInputs of;
    if (!layer.score.empty()) of.log_forget = tensor(gates.data(), {kTokens, kHeads});
    return of;
  }
  void forward() {
    mpi::attend_ring(MPI_COMM_WORLD, layer,
                     {.sharding = &sharding,
                      .local = {.out = rows(out),
                                .q = rows(x),
                                .k = rows(x),
                                .v = rows(x),
                                .inputs = inputs(),
                                .lse = tensor(lse.data(), {kTokens, kHeads}),
                                .parallel = {.threads = 1}},
                      .part_rows = 3,
                      .carries = &carries});
  }
  void backward() {
    AttendBackwardArgs local{.q = rows(x),
                             .k = rows(x),
                             .v = rows(x),
                             .inputs = inputs(),
                             .out = rows(out),
                             .lse = tensor(lse.data(), {kTokens, kHeads}),
                             .d_out = rows(x),
                             .d_q = rows(d_q),
                             .d_k = rows(d_k),
                             .d_v = rows(d_v),
                             .parallel = {.threads = 1}};
    if (!layer.score.empty()) local.d_log_forget = tensor(d_gates.data(), {kTokens, kHeads});
    mpi::attend_ring_backward(MPI_COMM_WORLD, layer,
                              {.sharding = &sharding, .local = local, .carries = carries, .part_rows = 3});
  }
  void tree() {
    const Shard& own = sharding.ranks[static_cast<std::size_t>(rank())];
    const std::vector<std::int64_t>& order = sharding.ranks.back().order;
    mpi::attend_tree(MPI_COMM_WORLD, layer,
                     {.out = rows(out),
                      .q = rows(x),
                      .k = rows(x),
                      .v = rows(x),
                      .inputs = {.q_order = order, .k_order = own.order},
                      .parallel = {.threads = 1}});
  }
};

std::int64_t step() {
  const char* const asked = std::getenv("POSENC_WHOLE");
  return asked != nullptr && std::string_view(asked) == "1" ? 1 : 17;
}

// Up to how many calls of operator new fail: all that there are.
std::int64_t expect_all_say(const std::function<void()>& call, bool all) {
  const bool is_last = rank() == ranks() - 1;
  for (std::int64_t n = 0;; n += step()) {
    std::string said;
    if (is_last) fail_new(n, all);
    int own = 0;
    try {
      call();
    } catch (const std::bad_alloc&) {
      own = 1;
    } catch (const Error& error) {
      stop_failing_new();
      own = 2;
      said = error.what();
    }
    stop_failing_new();
    std::vector<int> met(kSaid);
    met[static_cast<std::size_t>(own)] = 1;
    std::vector<int> counts(kSaid);
    MPI_Allreduce(met.data(), counts.data(), kSaid, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (counts[0] == ranks()) return n;
    EXPECT_EQ(counts, (std::vector<int>{0, 1, ranks() - 1})) << "allocation " << n;
    EXPECT_EQ(own, is_last ? 1 : 2) << "allocation " << n << ": " << said;
    if (!is_last) {
      EXPECT_TRUE(said.ends_with("is refused by rank " + std::to_string(ranks() - 1))) << said;
    }
    if (counts[1] != 1) return n;
  }
}

void expect_no_memory(const std::function<void()>& call) {
  call();  // what a process makes once
  EXPECT_GT(expect_all_say(call, false), 20);
  EXPECT_GT(expect_all_say(call, true), 20);
}

TEST(MpiNoMemory, AllRanksOfARingThrow) {
  Call call;
  expect_no_memory([&] { call.forward(); });
  expect_no_memory([&] { call.backward(); });
}

TEST(MpiNoMemory, AllRanksOfARingWithCarriesThrow) {
  Call call;
  call.layer.score = {ForgetGate{}};
  call.forward();
  expect_no_memory([&] { call.backward(); });
  expect_no_memory([&] { call.forward(); });
}

TEST(MpiNoMemory, AllRanksOfATreeThrow) {
  Call call;
  expect_no_memory([&] { call.tree(); });
}

}  // namespace
}  // namespace posenc::test::mpi_no_memory_test
