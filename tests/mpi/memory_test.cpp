// How much a rank takes from the heap: two blocks of keys beyond its own, and on the way back four of gradients, two
// that come and two that it makes and sends. Counted (support/heap_probe.h); few queries, so that blocks are nearly all
// of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "mpi/dealt.h"
#include "posenc/attend.h"
#include "posenc/attend_backward.h"
#include "support/heap_probe.h"

namespace posenc::test::mpi_test {
namespace {

constexpr std::int64_t kHeadsOf = 2;
constexpr std::int64_t kChannels = 64;
constexpr std::int64_t kKeys = 2048;  // of each rank
constexpr std::int64_t kRow = 2 * kHeadsOf * kChannels * 4;
constexpr std::int64_t kBlock = kKeys * kRow;
// Beside numbers each row of all ranks has its place, its order and its document, as in the shardings, and its order
// once more where work is counted; and lists grow by doubling.
constexpr std::int64_t kOfRow = std::int64_t{2} * (8 + 8 + 4 + 8);

struct Call {
  LayerPlan layer{.heads = kHeadsOf,
                  .kv_heads = kHeadsOf,
                  .head_dim = kChannels,
                  .value_dim = kChannels,
                  .softmax_scale = 0.125,
                  .mask = {.kind = MaskKind::bidirectional}};
  LayerWeights weights{};
  Sharding queries = shard({.ranks = ranks(), .dealing = Dealing::contiguous, .tokens = ranks()});
  Sharding keys = shard({.ranks = ranks(), .dealing = Dealing::contiguous, .tokens = ranks() * kKeys});
  std::vector<float> q, k, v, out, lse, d_q, d_k, d_v, carries;
  std::vector<float> gates, d_gates, carry, d_carry;

  Call() {
    q = out = d_q = std::vector<float>(kHeadsOf * kChannels, 0.5F);
    k = v = d_k = d_v = std::vector<float>(kKeys * kHeadsOf * kChannels, 0.25F);
    lse = carry = d_carry = std::vector<float>(kHeadsOf);
  }
  TensorView queries_of(std::vector<float>& x) { return tensor(x.data(), {1, kHeadsOf, kChannels}); }
  TensorView keys_of(std::vector<float>& x) { return tensor(x.data(), {kKeys, kHeadsOf, kChannels}); }
  LayerInputs inputs() {
    LayerInputs out_inputs;
    if (!gates.empty()) out_inputs.log_forget = tensor(gates.data(), {kKeys, kHeadsOf});
    return out_inputs;
  }
  AttendArgs forward() {
    return {.out = queries_of(out),
            .q = queries_of(q),
            .k = keys_of(k),
            .v = keys_of(v),
            .weights = weights,
            .inputs = inputs(),
            .lse = tensor(lse.data(), {1, kHeadsOf}),
            .parallel = {.threads = 1}};
  }
  AttendBackwardArgs backward() {
    AttendBackwardArgs args{.q = queries_of(q),
                            .k = keys_of(k),
                            .v = keys_of(v),
                            .weights = weights,
                            .inputs = inputs(),
                            .out = queries_of(out),
                            .lse = tensor(lse.data(), {1, kHeadsOf}),
                            .d_out = queries_of(q),
                            .d_q = queries_of(d_q),
                            .d_k = keys_of(d_k),
                            .d_v = keys_of(d_v),
                            .parallel = {.threads = 1}};
    if (!gates.empty()) args.d_log_forget = tensor(d_gates.data(), {kKeys, kHeadsOf});
    return args;
  }
};

struct Peaks {
  std::int64_t alone, ring;
  double blocks() const { return static_cast<double>(ring - alone) / static_cast<double>(kBlock); }
};

Peaks forward_peaks(Call& call) {
  AttendArgs alone = call.forward();
  if (!call.gates.empty()) alone.carry = tensor(call.carry.data(), {1, kHeadsOf});
  const HeapProbe of_alone;
  (void)attend(call.layer, alone);
  const std::int64_t alone_peak = of_alone.peak_growth();
  const HeapProbe of_ring;
  mpi::attend_ring(
      MPI_COMM_WORLD, call.layer,
      {.sharding = &call.queries, .key_sharding = &call.keys, .local = call.forward(), .carries = &call.carries});
  return {alone_peak, of_ring.peak_growth()};
}

Peaks backward_peaks(Call& call) {
  AttendBackwardArgs alone = call.backward();
  if (!call.gates.empty()) {
    alone.carry = tensor(call.carry.data(), {1, kHeadsOf});
    alone.d_carry = tensor(call.d_carry.data(), {1, kHeadsOf});
  }
  const HeapProbe of_alone;
  (void)attend_backward(call.layer, alone);
  const std::int64_t alone_peak = of_alone.peak_growth();
  const HeapProbe of_ring;
  mpi::attend_ring_backward(
      MPI_COMM_WORLD, call.layer,
      {.sharding = &call.queries, .key_sharding = &call.keys, .local = call.backward(), .carries = call.carries});
  return {alone_peak, of_ring.peak_growth()};
}

void expect_blocks(const std::string& name, const Peaks& is, double most) {
  const double rows = static_cast<double>(kOfRow * kKeys * ranks()) / static_cast<double>(kBlock);
  std::printf("[ memory   ] rank %d of %d, %s: %.3f blocks beyond its own\n", rank(), ranks(), name.c_str(),
              is.blocks());
  EXPECT_LE(is.blocks(), most + rows) << name;
  // Of four ranks or more two whole blocks are there at a time; else what is counted is not.
  if (ranks() > 3) {
    EXPECT_GE(is.blocks(), 1.9) << name;
  }
}

TEST(MpiMemory, ARankHoldsTwoBlocksOfOthers) {
  Call call;
  (void)forward_peaks(call);  // what a process makes once
  (void)backward_peaks(call);
  expect_blocks("forward", forward_peaks(call), 2.0);
  expect_blocks("backward", backward_peaks(call), 2.0 + 4.0);
}

// Keys in runs, which all ranks need at once, and send gradients of at once.
TEST(MpiMemory, ARankHoldsTwoRunsOfOthers) {
  Call call;
  call.layer.score = {ForgetGate{}};
  call.gates = call.d_gates = std::vector<float>(kKeys * kHeadsOf, -0.01F);
  call.layer.mask = {.kind = MaskKind::bidirectional};
  (void)forward_peaks(call);
  const double gates = 1.0 + static_cast<double>(kHeadsOf * 4) / static_cast<double>(kRow);
  expect_blocks("forward in runs", forward_peaks(call), 2.0 * gates);
  expect_blocks("backward in runs", backward_peaks(call), (2.0 + 4.0) * gates);
}

}  // namespace
}  // namespace posenc::test::mpi_test
