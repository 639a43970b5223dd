// How much a rank takes from the heap beside its share (what it is given and what it writes) and beside what attention
// takes of that share alone: two blocks at most, where a block is the keys and values of a rank, on the way back with
// their gradients in f32. Counted (support/heap_probe.h), of few queries and of twice as many as keys.
#include <gtest/gtest.h>

#include <cstddef>
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

constexpr double kBlocks = 2.0;  // with lists of rows, which are small beside numbers of so few ranks
constexpr std::int64_t kFloat = 4;

struct Sizes {
  std::int64_t queries = 1;  // of each rank
  std::int64_t keys = 2048;
  std::int64_t heads = 2;
  std::int64_t kv_heads = 2;
  std::int64_t channels = 64;
  DType dtype = DType::f32;  // of keys and values
  bool forgets = false;

  std::int64_t numbers_of_key() const { return 2 * kv_heads * channels; }
  std::int64_t gates_of_key() const { return forgets ? heads : 0; }
  double block() const {
    return static_cast<double>(keys * (numbers_of_key() * bytes_of(dtype) + gates_of_key() * kFloat));
  }
  double block_of_gradients() const { return static_cast<double>(keys * (numbers_of_key() + gates_of_key()) * kFloat); }
};

// Zeros: what is taken does not depend on numbers.
struct Call {
  Sizes sizes;
  LayerPlan layer{.heads = sizes.heads,
                  .kv_heads = sizes.kv_heads,
                  .head_dim = sizes.channels,
                  .value_dim = sizes.channels,
                  .softmax_scale = 0.125,
                  .mask = {.kind = MaskKind::bidirectional}};
  LayerWeights weights{};
  Sharding queries = shard({.ranks = ranks(), .dealing = Dealing::contiguous, .tokens = ranks() * sizes.queries});
  Sharding keys = shard({.ranks = ranks(), .dealing = Dealing::contiguous, .tokens = ranks() * sizes.keys});
  std::vector<float> q, out, d_q, lse, d_k, d_v, gates, d_gates, carries, carry, d_carry;
  std::vector<std::byte> k, v;

  explicit Call(const Sizes& of) : sizes(of) {
    if (sizes.forgets) layer.score = {ForgetGate{}};
    q = out = d_q = std::vector<float>(count(sizes.queries * sizes.heads * sizes.channels));
    lse = carry = d_carry = std::vector<float>(count(sizes.queries * sizes.heads));
    d_k = d_v = std::vector<float>(count(sizes.keys * sizes.kv_heads * sizes.channels));
    k = v = std::vector<std::byte>(count(sizes.keys * sizes.kv_heads * sizes.channels * bytes_of(sizes.dtype)));
    if (sizes.forgets) gates = d_gates = std::vector<float>(count(sizes.keys * sizes.heads));
  }
  static std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }
  TensorView of_queries(std::vector<float>& x) const {
    return tensor(x.data(), {sizes.queries, sizes.heads, sizes.channels});
  }
  TensorView of_each(std::vector<float>& x) const { return tensor(x.data(), {sizes.queries, sizes.heads}); }
  TensorView gradients(std::vector<float>& x) const {
    return tensor(x.data(), {sizes.keys, sizes.kv_heads, sizes.channels});
  }
  ConstTensorView of_keys(const std::vector<std::byte>& x) const {
    return tensor(static_cast<const void*>(x.data()), sizes.dtype, {sizes.keys, sizes.kv_heads, sizes.channels});
  }
  LayerInputs inputs() const {
    LayerInputs of;
    if (sizes.forgets) of.log_forget = tensor(gates.data(), {sizes.keys, sizes.heads});
    return of;
  }
  AttendArgs forward() {
    return {.out = of_queries(out),
            .q = of_queries(q),
            .k = of_keys(k),
            .v = of_keys(v),
            .weights = weights,
            .inputs = inputs(),
            .lse = of_each(lse),
            .parallel = {.threads = 1}};
  }
  AttendBackwardArgs backward() {
    AttendBackwardArgs args{.q = of_queries(q),
                            .k = of_keys(k),
                            .v = of_keys(v),
                            .weights = weights,
                            .inputs = inputs(),
                            .out = of_queries(out),
                            .lse = of_each(lse),
                            .d_out = of_queries(q),
                            .d_q = of_queries(d_q),
                            .d_k = gradients(d_k),
                            .d_v = gradients(d_v),
                            .parallel = {.threads = 1}};
    if (sizes.forgets) args.d_log_forget = tensor(d_gates.data(), {sizes.keys, sizes.heads});
    return args;
  }
};

struct Peaks {
  std::int64_t alone, ring;
  double beside() const { return static_cast<double>(ring - alone); }
};

Peaks forward_peaks(Call& call) {
  AttendArgs alone = call.forward();
  if (call.sizes.forgets) alone.carry = call.of_each(call.carry);
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
  // Of this part of the keys alone.
  if (call.sizes.forgets) alone.carry = call.of_each(call.carry);
  if (call.sizes.forgets) alone.d_carry = call.of_each(call.d_carry);
  const HeapProbe of_alone;
  (void)attend_backward(call.layer, alone);
  const std::int64_t alone_peak = of_alone.peak_growth();
  const HeapProbe of_ring;
  mpi::attend_ring_backward(
      MPI_COMM_WORLD, call.layer,
      {.sharding = &call.queries, .key_sharding = &call.keys, .local = call.backward(), .carries = call.carries});
  return {alone_peak, of_ring.peak_growth()};
}

void expect_blocks(const std::string& name, const Call& call, const Peaks& is, double block) {
  const double blocks = is.beside() / block;
  std::printf("[ memory   ] rank %d of %d, %s: %.3f blocks beside its share\n", rank(), ranks(), name.c_str(), blocks);
  EXPECT_LE(blocks, kBlocks) << name;
  // Of three ranks or more there is room for a block of keys; else what is counted is not it.
  if (ranks() > 2) {
    EXPECT_GE(static_cast<double>(is.ring) / call.sizes.block(), 0.99) << name;
  }
}

void expect_two_blocks(const std::string& name, const Sizes& sizes) {
  Call call(sizes);
  (void)forward_peaks(call);  // what a process makes once
  (void)backward_peaks(call);
  expect_blocks(name + ", forward", call, forward_peaks(call), sizes.block());
  expect_blocks(name + ", backward", call, backward_peaks(call), sizes.block() + sizes.block_of_gradients());
}

TEST(MpiMemory, ARankHoldsTwoBlocksOfOthers) {
  expect_two_blocks("a query", {});
  expect_two_blocks("keys of bf16", {.dtype = DType::bf16});
  expect_two_blocks("small blocks", {.keys = 200});
  expect_two_blocks("small blocks of bf16", {.keys = 200, .dtype = DType::bf16});
}

// Four query heads read a KV head, two queries to a key: outputs are four blocks, and gradients of queries two of those
// that travel on the way back, so that what holds either once more passes the bound.
TEST(MpiMemory, ARankHoldsTwoBlocksBesideItsQueries) {
  expect_two_blocks("twice the queries", {.queries = 2048, .keys = 1024, .heads = 4, .kv_heads = 1, .channels = 32});
  // Queries of a tile would be four blocks.
  expect_two_blocks("many heads to a KV head", {.queries = 256, .keys = 256, .heads = 32, .kv_heads = 1});
}

// Keys in runs, which all ranks need at once, and send gradients of at once. Lists of all ranks' rows would be three
// blocks of so few channels, as they are of any where ranks are many.
TEST(MpiMemory, ARankHoldsTwoRunsOfOthers) {
  expect_two_blocks("in runs", {.forgets = true});
  expect_two_blocks("in runs of few channels", {.keys = 8192, .heads = 1, .kv_heads = 1, .channels = 4, .forgets = true});
}

}  // namespace
}  // namespace posenc::test::mpi_test
