// How much of sending the ring of MPI hides behind computing: computing alone, sending alone (keys of as many tokens,
// of which each rank has one query) and both, in turn; medians, and what is hidden, (computing + sending - both) /
// min(computing, sending). docs/distributed.md has what it printed, over TCP of a bandwidth that tc limits:
//
//   unshare --net sh -c 'ip link set lo up; tc qdisc add dev lo root tbf rate 200mbit burst 128kb limit 64mb
//     mpirun --mca btl tcp,self --mca btl_tcp_if_include lo -n 2 build/release/bench/bench_mpi_ring 8192 7'
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "posenc/attend.h"
#include "posenc/attend_backward.h"
#include "posenc/mpi.h"

namespace posenc {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kChannels = 64;

std::vector<float> numbers(std::int64_t rows) {
  std::vector<float> out(static_cast<std::size_t>(rows * kHeads * kChannels));
  for (std::size_t n = 0; n < out.size(); ++n) out[n] = static_cast<float>((n * 2654435761U) % 1000) / 500.0F - 1.0F;
  return out;
}

template <typename Numbers>
auto rows_of(Numbers& x) {
  return tensor(x.data(), {std::ssize(x) / (kHeads * kChannels), kHeads, kChannels});
}

// Of some queries over the keys of all ranks.
struct Ring {
  LayerPlan layer{.heads = kHeads,
                  .kv_heads = kHeads,
                  .head_dim = kChannels,
                  .value_dim = kChannels,
                  .softmax_scale = 0.125,
                  .mask = {.kind = MaskKind::bidirectional}};
  Sharding queries, keys;
  std::vector<float> q, k, v, out, lse, d_q, d_k, d_v;

  Ring(int rank, int ranks, std::int64_t query_tokens, std::int64_t tokens)
      : queries(shard({.ranks = ranks, .tokens = query_tokens})), keys(shard({.ranks = ranks, .tokens = tokens})) {
    const std::int64_t q_rows = std::ssize(queries.ranks[static_cast<std::size_t>(rank)].rows);
    const std::int64_t k_rows = std::ssize(keys.ranks[static_cast<std::size_t>(rank)].rows);
    q = out = d_q = numbers(q_rows);
    k = v = d_k = d_v = numbers(k_rows);
    lse.resize(static_cast<std::size_t>(q_rows * kHeads));
  }
  TensorView sums() { return tensor(lse.data(), {std::ssize(lse) / kHeads, kHeads}); }
  AttendArgs forward_args() {
    return {.out = rows_of(out),
            .q = rows_of(q),
            .k = rows_of(k),
            .v = rows_of(v),
            .lse = sums(),
            .parallel = {.threads = 1}};
  }
  AttendBackwardArgs backward_args() {
    return {.q = rows_of(q),
            .k = rows_of(k),
            .v = rows_of(v),
            .out = rows_of(out),
            .lse = sums(),
            .d_out = rows_of(q),
            .d_q = rows_of(d_q),
            .d_k = rows_of(d_k),
            .d_v = rows_of(d_v),
            .parallel = {.threads = 1}};
  }
  void forward() {
    mpi::attend_ring(MPI_COMM_WORLD, layer, {.sharding = &queries, .key_sharding = &keys, .local = forward_args()});
  }
  void backward() {
    mpi::attend_ring_backward(MPI_COMM_WORLD, layer,
                              {.sharding = &queries, .key_sharding = &keys, .local = backward_args()});
  }
};

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x[x.size() / 2];
}

// Seconds until the last rank is done.
double seconds(const std::function<void()>& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  call();
  const double own = MPI_Wtime() - began;
  double most = 0.0;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

void measure(std::int64_t tokens, int rounds) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Ring all(rank, ranks, tokens, tokens);
  Ring one(rank, ranks, ranks, tokens);
  const auto parts = [&](const std::function<void()>& part) {
    return [=] {
      for (int n = 0; n < ranks; ++n) part();
    };
  };
  all.forward();
  one.forward();
  for (const bool is_backward : {false, true}) {
    const std::function<void()> ways[3] = {
        is_backward ? parts([&] { (void)attend_backward(all.layer, all.backward_args()); })
                    : parts([&] { (void)attend(all.layer, all.forward_args()); }),
        [&] { is_backward ? one.backward() : one.forward(); },
        [&] { is_backward ? all.backward() : all.forward(); },
    };
    std::vector<double> took[3];
    for (int round = 0; round <= rounds; ++round) {
      for (int way = 0; way < 3; ++way) {
        const double is = seconds(ways[way]);
        if (round > 0) took[way].push_back(is);
      }
    }
    const double computing = median(took[0]);
    const double sending = median(took[1]);
    const double both = median(took[2]);
    if (rank > 0) continue;
    std::printf("| MPI, %d | %lld | %s | %.0f | %.0f | %.0f | %.2f |\n", ranks, static_cast<long long>(tokens),
                is_backward ? "backward" : "forward", 1000 * computing, 1000 * sending, 1000 * both,
                (computing + sending - both) / std::min(computing, sending));
  }
}

}  // namespace
}  // namespace posenc

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  posenc::measure(count > 1 ? std::atoll(arguments[1]) : 8192, count > 2 ? std::atoi(arguments[2]) : 7);
  MPI_Finalize();
}
