// Linear attention with rotation against what limits it. Prefill: the fraction of the machine's multiply-adds (register
// only, same process), the time over that of softmax attention of the same shape, and that of the backward pass over
// it. Decoding: the time over reading and writing the state once. Operations are those of the recurrence, the least
// there are; what queries and keys of one chunk have with one another is on top of them, and not counted.
//
// usage: bench_linear [PART OF A SHAPE]
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "huge_memory.h"
#include "multiply_add.h"
#include "posenc/attend.h"
#include "posenc/attend_linear.h"
#include "taking_turns.h"
#include "xor_in_place.h"

namespace {

using posenc::bench::Candidate;
using posenc::bench::HugeMemory;
using posenc::bench::spread;
using posenc::bench::Spread;

constexpr int kRounds = 9;
constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kChannels = 128;
// S and z of attend_linear.h: kChannels * kChannels and kChannels floats a KV head.
constexpr std::int64_t kState = kKvHeads * kChannels * (kChannels + 1);  // floats

// One sequence. tokens 1: a step of decode with a state; else prefill from nothing.
struct Shape {
  std::string name;
  std::int64_t tokens;
  bool causal = true;
  posenc::DType dtype = posenc::DType::f32;
};

// A multiply-add for each pair of channels: of each query head to read S, of each KV head to add to it.
double operations(const Shape& shape) {
  return 2.0 * static_cast<double>(shape.tokens * (kHeads + kKvHeads) * kChannels * kChannels);
}

void fill(const HugeMemory& memory, std::int64_t count, posenc::DType dtype) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    if (dtype == posenc::DType::f32) {
      const float x = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
      std::memcpy(memory.data() + 4 * i, &x, sizeof x);
    } else {  // 0.5 .. 1 with either sign
      const auto x = static_cast<std::uint16_t>(((state >> 16U) & 0x803FU) | 0x3F00U);
      std::memcpy(memory.data() + 2 * i, &x, sizeof x);
    }
  }
}

// [tokens, heads, channels] each; the state starts from zeros and grows with every call of decode, within floats.
struct Tensors {
  explicit Tensors(const Shape& s)
      : shape(s),
        q(bytes(kHeads)),
        k(bytes(kKvHeads)),
        v(bytes(kKvHeads)),
        out(bytes(kHeads)),
        d_out(bytes(kHeads)),
        d_q(bytes(kHeads)),
        d_k(bytes(kKvHeads)),
        d_v(bytes(kKvHeads)),
        state(static_cast<std::size_t>(kState) * sizeof(float)) {
    fill(q, s.tokens * kHeads * kChannels, s.dtype);
    fill(k, s.tokens * kKvHeads * kChannels, s.dtype);
    fill(v, s.tokens * kKvHeads * kChannels, s.dtype);
    fill(d_out, s.tokens * kHeads * kChannels, s.dtype);
  }
  posenc::TensorView view(const HugeMemory& memory, std::int64_t heads) const {
    return posenc::tensor(static_cast<void*>(memory.data()), shape.dtype, {shape.tokens, heads, kChannels});
  }
  posenc::LinearState state_view() const {
    float* const first = reinterpret_cast<float*>(state.data());
    return {.products = posenc::tensor(first, {1, kKvHeads, kChannels, kChannels}),
            .totals = posenc::tensor(first + kKvHeads * kChannels * kChannels, {1, kKvHeads, kChannels})};
  }

  Shape shape;
  HugeMemory q, k, v, out, d_out, d_q, d_k, d_v, state;

 private:
  std::size_t bytes(std::int64_t heads) const {
    return static_cast<std::size_t>(shape.tokens * heads * kChannels * bytes_of(shape.dtype));
  }
};

posenc::LayerPlan layer_of(const Shape& shape) {
  posenc::LayerPlan layer{.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kChannels, .value_dim = kChannels};
  layer.softmax_scale = 1.0 / std::sqrt(static_cast<double>(kChannels));
  layer.mask.kind = shape.causal ? posenc::MaskKind::causal : posenc::MaskKind::bidirectional;
  layer.rotate = {posenc::Rotate{
      .scheme = posenc::Rope{.pairing = posenc::Pairing::half, .head_dim = kChannels, .dim = kChannels, .base = 5e5}}};
  return layer;
}

// A ratio of 1 of peak FLOP/s would be the recurrence and nothing else. "x softmax": below 1, linear attention is
// faster.
void prefill(const Shape& shape, int threads) {
  const Tensors tensors(shape);
  const posenc::LayerPlan layer = layer_of(shape);
  const posenc::Isa isa = posenc::selected_isa();
  constexpr std::int64_t kSteps = 2'000'000;
  // Of all its steps together, the same in each round.
  double peak_operations = 0;
  std::vector<Candidate> candidates{
      {.name = "multiply-adds", .run = [&] { peak_operations = posenc::bench::multiply_add(isa, kSteps); }},
      {.name = "linear",
       .run =
           [&] {
             (void)attend_linear(layer, {.out = tensors.view(tensors.out, kHeads),
                                         .q = tensors.view(tensors.q, kHeads),
                                         .k = tensors.view(tensors.k, kKvHeads),
                                         .v = tensors.view(tensors.v, kKvHeads),
                                         .parallel = {.threads = threads}});
           }},
      {.name = "backward", .run = [&] {
         (void)attend_linear_backward(layer, {.q = tensors.view(tensors.q, kHeads),
                                              .k = tensors.view(tensors.k, kKvHeads),
                                              .v = tensors.view(tensors.v, kKvHeads),
                                              .d_out = tensors.view(tensors.d_out, kHeads),
                                              .d_q = tensors.view(tensors.d_q, kHeads),
                                              .d_k = tensors.view(tensors.d_k, kKvHeads),
                                              .d_v = tensors.view(tensors.d_v, kKvHeads),
                                              .parallel = {.threads = threads}});
       }}};
  // Softmax attention grows with the square: at 8192 tokens it would take most of the time.
  if (shape.tokens <= 2048) {
    candidates.push_back({.name = "softmax", .run = [&] {
                            (void)attend(layer, {.out = tensors.view(tensors.out, kHeads),
                                                 .q = tensors.view(tensors.q, kHeads),
                                                 .k = tensors.view(tensors.k, kKvHeads),
                                                 .v = tensors.view(tensors.v, kKvHeads),
                                                 .parallel = {.threads = threads}});
                          }});
  }
  posenc::bench::take_turns(candidates, kRounds,
                            threads == 1 ? posenc::bench::thread_seconds : posenc::bench::wall_seconds);
  std::vector<double> of_peak;
  for (std::size_t i = 0; i < candidates[1].seconds.size(); ++i) {
    const double peak = peak_operations / candidates[0].seconds[i];
    of_peak.push_back(operations(shape) / candidates[1].seconds[i] / peak);
  }
  const double seconds = spread(candidates[1].seconds).median;
  const Spread part = spread(of_peak);
  std::printf("%-20s %d thread%s %9.2f ms %7.1f Gflop/s   %.3f [%.3f, %.3f] of peak FLOP/s", shape.name.c_str(),
              threads, threads == 1 ? " " : "s", seconds * 1e3, operations(shape) / seconds * 1e-9, part.median,
              part.least, part.most);
  const Spread backward = ratios(candidates[2], candidates[1]);
  std::printf("   backward %.2f [%.2f, %.2f] x forward", backward.median, backward.least, backward.most);
  if (candidates.size() > 3) {
    const Spread ratio = ratios(candidates[1], candidates[3]);
    std::printf("   %.2f [%.2f, %.2f] x softmax", ratio.median, ratio.least, ratio.most);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// One token with a state, the step of generation. The limit reads and writes the state once (RMW), and nothing else.
void decode(const Shape& shape) {
  const Tensors tensors(shape);
  const posenc::LayerPlan layer = layer_of(shape);
  constexpr int kCalls = 20;
  std::vector<Candidate> candidates{
      {.name = "state read and written",
       .run = [&] { posenc::bench::xor_in_place(tensors.state.data(), kState * sizeof(float)); },
       .calls = kCalls},
      {.name = "linear",
       .run =
           [&] {
             (void)attend_linear(
                 layer, {.out = tensors.view(tensors.out, kHeads),
                         .q = tensors.view(tensors.q, kHeads),
                         .k = tensors.view(tensors.k, kKvHeads),
                         .v = tensors.view(tensors.v, kKvHeads),
                         .inputs = {.q_positions = posenc::PositionRange{7}, .k_positions = posenc::PositionRange{7}},
                         .state = tensors.state_view(),
                         .parallel = {.threads = 1}});
           },
       .calls = kCalls}};
  posenc::bench::take_turns(candidates, kRounds);
  const Spread ratio = ratios(candidates[1], candidates[0]);
  std::printf("%-20s 1 thread  %9.1f us   %.2f [%.2f, %.2f] x its state read and written (%.1f us)\n",
              shape.name.c_str(), spread(candidates[1].seconds).median * 1e6, ratio.median, ratio.least, ratio.most,
              spread(candidates[0].seconds).median * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  std::printf("instruction set: %s; %d query heads to %d KV heads of %d channels\n",
              std::string(name(posenc::selected_isa())).c_str(), static_cast<int>(kHeads), static_cast<int>(kKvHeads),
              static_cast<int>(kChannels));
  const std::vector<Shape> shapes{
      {.name = "decode, f32", .tokens = 1},
      {.name = "512, f32", .tokens = 512},
      {.name = "2048, f32", .tokens = 2048},
      {.name = "2048, f32, full", .tokens = 2048, .causal = false},
      {.name = "2048, bf16", .tokens = 2048, .dtype = posenc::DType::bf16},
      {.name = "8192, f32", .tokens = 8192},
  };
  for (const Shape& shape : shapes) {
    if (shape.name.find(part) == std::string::npos) continue;
    if (shape.tokens == 1) {
      decode(shape);
      continue;
    }
    for (const int threads : {1, 2}) prefill(shape, threads);
  }
}
