#include "mpi/dealt.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>

#include "cpu/lower/weight_reader.h"
#include "math/learned_tensors.h"
#include "posenc/error.h"
#include "posenc/named_weights.h"

namespace posenc::test::mpi_test {
namespace {

Sharding dealt(Dealing dealing, const Mask& mask, std::int64_t tokens, std::span<const std::int32_t> cu_seqlens,
               const std::optional<Positions>& positions) {
  return shard({.ranks = ranks(),
                .dealing = dealing,
                .tokens = tokens,
                .cu_seqlens = cu_seqlens,
                .positions = positions,
                .block = dealing == Dealing::balanced ? 4 : 0,
                .mask = mask});
}

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t size : shape) out *= size;
  return static_cast<std::size_t>(out);
}

}  // namespace

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

std::size_t sums(const LayerPlan& layer) {
  return static_cast<std::size_t>(std::ranges::count_if(layer.score, [](const ScoreTerm& term) {
    return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
  }));
}

std::vector<float> rows_of(const Tensor& x, const Shard& shard) {
  std::vector<float> out;
  const std::size_t width = x.values.size() / static_cast<std::size_t>(x.shape[0]);
  for (const std::int64_t row : shard.rows) {
    const auto first = x.values.begin() + row * static_cast<std::int64_t>(width);
    for (std::size_t n = 0; n < width; ++n) out.push_back(static_cast<float>(first[static_cast<std::int64_t>(n)]));
  }
  return out;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

Dealt::Dealt(SchemeCall& of, Dealing dealing, const Mask& mask)
    : call(of),
      queries(dealt(dealing, mask, of.sizes.queries, of.inputs.cu_seqlens_q, of.inputs.q_positions)),
      keys(dealt(dealing, mask, of.sizes.keys, of.inputs.cu_seqlens_k, of.inputs.k_positions)),
      q(rows_of(of.q, own_queries())),
      k(rows_of(of.k, own_keys())),
      v(rows_of(of.v, own_keys())) {
  if (!call.inputs.log_forget.empty()) {
    for (const std::int64_t row : own_keys().rows) {
      for (std::int64_t h = 0; h < call.layer.heads; ++h) {
        gates.push_back(static_cast<float>(cpu::read(call.inputs.log_forget, {row, h})));
      }
    }
  }
  if (call.inputs.q_segments.empty()) return;
  for (const std::int64_t row : own_queries().rows)
    q_segments.push_back(call.inputs.q_segments[static_cast<std::size_t>(row)]);
  for (const std::int64_t row : own_keys().rows)
    k_segments.push_back(call.inputs.k_segments[static_cast<std::size_t>(row)]);
}

LayerInputs Dealt::inputs() const {
  LayerInputs out{.prefix = call.inputs.prefix, .length = call.inputs.length};
  if (!call.inputs.log_forget.empty()) {
    out.log_forget = tensor(gates.data(), {std::ssize(own_keys().rows), call.layer.heads});
  }
  out.q_segments = q_segments;
  out.k_segments = k_segments;
  return out;
}

Results Dealt::run() {
  const LayerPlan& layer = call.layer;
  const std::int64_t q_rows = std::ssize(own_queries().rows);
  const std::int64_t k_rows = std::ssize(own_keys().rows);
  Results made{std::vector<float>(static_cast<std::size_t>(q_rows * layer.heads * layer.value_dim)),
               std::vector<float>(static_cast<std::size_t>(q_rows * layer.heads))};
  mpi::attend_ring(MPI_COMM_WORLD, layer,
                   {.sharding = &queries,
                    .key_sharding = &keys,
                    .local = {.out = tensor(made.out.data(), {q_rows, layer.heads, layer.value_dim}),
                              .q = tensor(q.data(), {q_rows, layer.heads, layer.head_dim}),
                              .k = tensor(k.data(), {k_rows, layer.kv_heads, layer.head_dim}),
                              .v = tensor(v.data(), {k_rows, layer.kv_heads, layer.value_dim}),
                              .weights = call.weights,
                              .inputs = inputs(),
                              .lse = tensor(made.lse.data(), {q_rows, layer.heads}),
                              .parallel = {.threads = 1}},
                    .sent = &made.sent,
                    .part_rows = 3,  // so that few rows come in parts too
                    .carries = &made.carries});
  return made;
}

BackwardResults Dealt::run_backward(const Results& forward, const Tensor& d_out, const Tensor& d_lse) {
  return run_backward(forward, d_out, d_lse, [](mpi::RingBackwardArgs&) {});
}

BackwardResults Dealt::run_backward(const Results& forward, const Tensor& d_out, const Tensor& d_lse,
                                    const std::function<void(mpi::RingBackwardArgs&)>& spoil) {
  const LayerPlan& layer = call.layer;
  const std::int64_t q_rows = std::ssize(own_queries().rows);
  const std::int64_t k_rows = std::ssize(own_keys().rows);
  const std::vector<float> d_out_rows = rows_of(d_out, own_queries());
  const std::vector<float> d_lse_rows = rows_of(d_lse, own_queries());
  BackwardResults made{std::vector<float>(q.size(), NAN), std::vector<float>(k.size(), NAN),
                       std::vector<float>(v.size(), NAN), std::vector<float>(gates.size(), NAN)};
  std::vector<std::vector<std::int64_t>> shapes;
  const auto* const values = std::get_if<RotatedValues>(&layer.value);
  for (const math::LearnedTensor& one : math::learned_tensors(layer, call.weights)) {
    if (values != nullptr && values->inverse_on_output && one.name.ends_with("inv_freq")) continue;
    made.names.push_back(one.name);
    shapes.push_back(gradient_shape(layer, call.weights, one.name));
    made.learned.emplace_back(count_of(shapes.back()), NAN);
  }
  std::vector<NamedGradient> named;
  for (std::size_t n = 0; n < shapes.size(); ++n)
    named.push_back({made.names[n], tensor(made.learned[n].data(), DType::f64, shapes[n])});
  mpi::RingBackwardArgs args{.sharding = &queries,
                             .key_sharding = &keys,
                             .local = {.q = tensor(q.data(), {q_rows, layer.heads, layer.head_dim}),
                                       .k = tensor(k.data(), {k_rows, layer.kv_heads, layer.head_dim}),
                                       .v = tensor(v.data(), {k_rows, layer.kv_heads, layer.value_dim}),
                                       .weights = call.weights,
                                       .inputs = inputs(),
                                       .out = tensor(forward.out.data(), {q_rows, layer.heads, layer.value_dim}),
                                       .lse = tensor(forward.lse.data(), {q_rows, layer.heads}),
                                       .d_out = tensor(d_out_rows.data(), {q_rows, layer.heads, layer.value_dim}),
                                       .d_lse = tensor(d_lse_rows.data(), {q_rows, layer.heads}),
                                       .d_q = tensor(made.q.data(), {q_rows, layer.heads, layer.head_dim}),
                                       .d_k = tensor(made.k.data(), {k_rows, layer.kv_heads, layer.head_dim}),
                                       .d_v = tensor(made.v.data(), {k_rows, layer.kv_heads, layer.value_dim}),
                                       .d_weights = named,
                                       .parallel = {.threads = 1}},
                             .carries = forward.carries,
                             .sent = &made.sent,
                             .part_rows = 3};
  if (!call.inputs.log_forget.empty()) args.local.d_log_forget = tensor(made.gates.data(), {k_rows, layer.heads});
  spoil(args);
  mpi::attend_ring_backward(MPI_COMM_WORLD, layer, args);
  return made;
}

}  // namespace posenc::test::mpi_test
