// A causal layer of Llama 3.1 over ranks of MPI: each has a zigzag part of 512 tokens, and what it computes is compared
// with the same rows of one rank's attention. docs/distributed.md shows what it prints.
//
//   mpirun -n 4 ring
#include <mpi.h>
#include <posenc/attend.h>
#include <posenc/distributed/shard.h>
#include <posenc/mpi.h>
#include <posenc/read_plan.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <vector>

namespace {

constexpr std::int64_t kTokens = 512;

// Numbers between -1 and 1 that depend on their token, so that ranks need not exchange them.
float number(std::int64_t token, std::int64_t place, std::uint32_t which) {
  auto x = static_cast<std::uint32_t>(token * 8191 + place) * 2654435761U + which * 40503U;
  x ^= x >> 15U;
  x *= 2246822519U;
  x ^= x >> 13U;
  return static_cast<float>(x >> 8U) / 8388608.0F - 1.0F;
}

std::vector<float> rows(const std::vector<std::int64_t>& tokens, std::int64_t width, std::uint32_t which) {
  std::vector<float> out;
  for (const std::int64_t token : tokens) {
    for (std::int64_t n = 0; n < width; ++n) out.push_back(number(token, n, which));
  }
  return out;
}

int run() {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const posenc::Plan plan = posenc::preset_plan("llama-3.1-8b");
  const posenc::LayerPlan& layer = plan.stacks[0].layers[0];
  const posenc::Sharding sharding = posenc::shard({.ranks = ranks, .tokens = kTokens});
  const std::vector<std::int64_t>& own = sharding.ranks[static_cast<std::size_t>(rank)].rows;
  const auto count = static_cast<std::int64_t>(own.size());
  const std::vector<float> q = rows(own, layer.heads * layer.head_dim, 1);
  const std::vector<float> k = rows(own, layer.kv_heads * layer.head_dim, 2);
  const std::vector<float> v = rows(own, layer.kv_heads * layer.value_dim, 3);
  std::vector<float> out(static_cast<std::size_t>(count * layer.heads * layer.value_dim));
  std::int64_t sent = 0;
  posenc::mpi::attend_ring(MPI_COMM_WORLD, layer,
                           {.sharding = &sharding,
                            .local = {.out = posenc::tensor(out.data(), {count, layer.heads, layer.value_dim}),
                                      .q = posenc::tensor(q.data(), {count, layer.heads, layer.head_dim}),
                                      .k = posenc::tensor(k.data(), {count, layer.kv_heads, layer.head_dim}),
                                      .v = posenc::tensor(v.data(), {count, layer.kv_heads, layer.value_dim})},
                            .sent = &sent});

  // All tokens on one rank, as many times as there are ranks.
  const posenc::Sharding whole = posenc::shard({.tokens = kTokens});
  const std::vector<std::int64_t>& all = whole.ranks[0].rows;
  const std::vector<float> all_q = rows(all, layer.heads * layer.head_dim, 1);
  const std::vector<float> all_k = rows(all, layer.kv_heads * layer.head_dim, 2);
  const std::vector<float> all_v = rows(all, layer.kv_heads * layer.value_dim, 3);
  const std::int64_t width = layer.heads * layer.value_dim;
  std::vector<float> wanted(static_cast<std::size_t>(kTokens * width));
  (void)posenc::attend(layer, {.out = posenc::tensor(wanted.data(), {kTokens, layer.heads, layer.value_dim}),
                               .q = posenc::tensor(all_q.data(), {kTokens, layer.heads, layer.head_dim}),
                               .k = posenc::tensor(all_k.data(), {kTokens, layer.kv_heads, layer.head_dim}),
                               .v = posenc::tensor(all_v.data(), {kTokens, layer.kv_heads, layer.value_dim})});
  double own_difference = 0.0;
  for (std::size_t n = 0; n < own.size(); ++n) {
    for (std::int64_t c = 0; c < width; ++c) {
      const float is = out[n * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)];
      const float must = wanted[static_cast<std::size_t>(own[n] * width + c)];
      own_difference = std::max(own_difference, std::abs(static_cast<double>(is) - static_cast<double>(must)));
    }
  }
  double difference = 0.0;
  std::int64_t all_sent = 0;
  MPI_Reduce(&own_difference, &difference, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&sent, &all_sent, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  // Values are at most 1; each of the two sums rounds once a key at the most.
  const double bound = 2.0 * static_cast<double>(kTokens) * static_cast<double>(std::numeric_limits<float>::epsilon());
  int is_within = difference <= bound ? 1 : 0;
  if (rank == 0) {
    std::printf("%d ranks, %lld tokens each or one less, %lld bytes sent\n", ranks,
                static_cast<long long>((kTokens + ranks - 1) / ranks), static_cast<long long>(all_sent));
    std::printf("differences from one rank: %s the bound of f32\n", is_within == 1 ? "within" : "beyond");
  }
  MPI_Bcast(&is_within, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return is_within == 1 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int answer = 1;
  try {
    answer = run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ring: %s\n", error.what());
  }
  MPI_Finalize();
  return answer;
}
