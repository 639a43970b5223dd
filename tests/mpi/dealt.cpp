#include "mpi/dealt.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "cpu/lower/weight_reader.h"
#include "math/learned_tensors.h"
#include "posenc/error.h"
#include "posenc/named_weights.h"
#include "support/all_schemes.h"

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

constexpr std::int64_t kPartRows = 3;   // so that few rows come in parts too
constexpr std::int64_t kMostParts = 4;  // of a block: mpi/src/schedule.h

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t size : shape) out *= size;
  return static_cast<std::size_t>(out);
}

std::vector<double> rounded(const ConstTensorView& x) {
  std::vector<double> out = cpu::read_all(x);
  for (double& one : out) one = static_cast<double>(static_cast<float>(one));
  return out;
}

// From 0 in each document.
std::vector<std::int64_t> counted(std::int64_t tokens, std::span<const std::int32_t> cu_seqlens) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(tokens));
  std::iota(out.begin(), out.end(), 0);
  for (std::size_t d = 0; d + 1 < cu_seqlens.size(); ++d) {
    std::iota(out.begin() + cu_seqlens[d], out.begin() + cu_seqlens[d + 1], 0);
  }
  return out;
}

bool can_be_dealt(const SchemeCase& scheme) {
  if (scheme.batches_only) return false;
  const SchemeCall call(scheme, {.name = "some", .queries = 4, .keys = 4}, Places::scattered, 1);
  return call.inputs.bias.empty();
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

bool is_whole() {
  const char* const asked = std::getenv("POSENC_WHOLE");
  return asked != nullptr && std::string_view(asked) == "1";
}

std::vector<Arrangement> dealt_arrangements(std::int64_t tokens) {
  const auto end = static_cast<std::int32_t>(tokens);
  const Mask causal{.kind = MaskKind::causal};
  const Mask all{.kind = MaskKind::bidirectional};
  const Mask window{.kind = MaskKind::causal, .window = Window{.past = tokens / 9}};
  std::vector<Arrangement> out{
      {.name = "causal", .mask = causal},
      {.name = "window", .mask = window},
      {.name = "bidirectional", .mask = all},
      {.name = "packed", .mask = causal, .cu_seqlens_q = {0, end / 3, end / 3, end / 3 + 1, end}},
      {.name = "chunks", .mask = {.kind = MaskKind::causal, .chunk = tokens / 4}},
      {.name = "packed, both ways", .mask = all, .cu_seqlens_q = {0, end / 4, end}},
      {.name = "prefix", .mask = {.kind = MaskKind::prefix}, .prefix = tokens / 5},
      {.name = "packed, window", .mask = window, .cu_seqlens_q = {0, end / 2, end}},
      {.name = "window, both ways",
       .mask = {.kind = MaskKind::bidirectional, .window = Window{.past = 3, .future = tokens / 6}}},
  };
  for (Arrangement& one : out) {
    one.cu_seqlens_k = one.cu_seqlens_q;
    one.queries = one.keys = tokens;
  }
  out.push_back({.name = "cross",
                 .mask = all,
                 .queries = tokens / 2,
                 .keys = tokens,
                 .cu_seqlens_q = {0, end / 3, end / 2},
                 .cu_seqlens_k = {0, 1, end}});
  return out;
}

std::vector<SchemeCase> dealt_schemes() {
  std::vector<SchemeCase> out;
  for (const SchemeCase& scheme : all_schemes()) {
    if (can_be_dealt(scheme)) out.push_back(scheme);
  }
  for (const SchemeCase& of : {cases_of(Case<ForgetGate>{}).front(), cases_of(Case<Rope>{}).front()}) {
    SchemeCase& one = out.emplace_back(of);
    one.name += ", sinks";
    one.layer.sinks = true;
    one.weights = [terms = one.layer.score.size()](Tables& tables) {
      return LayerWeights{.score = std::vector<ScoreWeights>(terms), .sinks = tables({kHeads})};
    };
  }
  return out;
}

std::vector<Dealing> dealings(const LayerPlan& layer, std::uint64_t turn) {
  std::vector<Dealing> out{Dealing::contiguous, Dealing::zigzag, Dealing::striped, Dealing::balanced};
  if (sums(layer) > 0) out.resize(2);
  if (!is_whole()) out = {out[turn % out.size()]};
  return out;
}

InFloats::InFloats(SchemeCall& call) {
  for (Tensor* const x : {&call.q, &call.k, &call.v}) {
    for (double& one : x->values) one = static_cast<double>(static_cast<float>(one));
  }
  LayerInputs& inputs = call.inputs;
  if (!inputs.log_forget.empty()) {
    gates_ = rounded(inputs.log_forget);
    inputs.log_forget = tensor(gates_.data(), {call.sizes.keys, call.layer.heads});
  }
  if (!inputs.row_gate.empty()) {
    row_gates_ = rounded(inputs.row_gate);
    inputs.row_gate = tensor(row_gates_.data(), {call.sizes.queries, call.layer.heads});
  }
  if (call.sizes.queries == call.sizes.keys) return;
  q_order_ = counted(call.sizes.queries, inputs.cu_seqlens_q);
  k_order_ = counted(call.sizes.keys, inputs.cu_seqlens_k);
  inputs.q_order = q_order_;
  inputs.k_order = k_order_;
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

// Runs are cut, too.
double Dealt::merges() const {
  const std::int64_t runs =
      sums(call.layer) == 0 ? 0 : std::int64_t{2} * ranks() * std::max<std::int64_t>(keys.documents, 1);
  return static_cast<double>(kMostParts * ranks() + runs);
}

double Dealt::additions() const {
  const std::int64_t of_rank = call.sizes.queries / ranks() + 1;  // queries
  const std::int64_t times = of_rank / kPartRows + 1;
  return merges() + static_cast<double>(ranks() * times);
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
  return run([](mpi::RingArgs&) {});
}

Results Dealt::run(const std::function<void(mpi::RingArgs&)>& spoil) {
  const LayerPlan& layer = call.layer;
  const std::int64_t q_rows = std::ssize(own_queries().rows);
  const std::int64_t k_rows = std::ssize(own_keys().rows);
  Results made{std::vector<float>(static_cast<std::size_t>(q_rows * layer.heads * layer.value_dim)),
               std::vector<float>(static_cast<std::size_t>(q_rows * layer.heads))};
  mpi::RingArgs args{.sharding = &queries,
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
                     .part_rows = kPartRows,
                     .carries = &made.carries};
  spoil(args);
  mpi::attend_ring(MPI_COMM_WORLD, instead == nullptr ? layer : *instead, args);
  return made;
}

Results Dealt::run_tree() {
  return run_tree([](AttendArgs&) {});
}

Results Dealt::run_tree(const std::function<void(AttendArgs&)>& spoil) {
  const LayerPlan& layer = call.layer;
  const std::int64_t tokens = call.sizes.queries;
  const Shard all = joined(queries, ranks()).ranks[0];
  const Shard& own = own_keys();
  const std::int64_t k_rows = std::ssize(own.rows);
  const std::vector<float> all_q = rows_of(call.q, all);
  std::vector<float> row_gates;
  LayerInputs in{.q_order = all.order,
                 .k_order = own.order,
                 .prefix = call.inputs.prefix,
                 .q_segments = call.inputs.q_segments,
                 .k_segments = k_segments,
                 .length = call.inputs.length};
  if (queries.documents > 1) {
    in.cu_seqlens_q = all.cu_seqlens;
    in.cu_seqlens_k = own.cu_seqlens;
  }
  if (queries.axes > 0) {
    in.q_positions = std::span<const double>(all.positions);
    in.k_positions = std::span<const double>(own.positions);
  }
  if (!call.inputs.row_gate.empty()) {
    for (const double one : cpu::read_all(call.inputs.row_gate)) row_gates.push_back(static_cast<float>(one));
    in.row_gate = tensor(row_gates.data(), {tokens, layer.heads});
  }
  Results made{std::vector<float>(static_cast<std::size_t>(tokens * layer.heads * layer.value_dim)),
               std::vector<float>(static_cast<std::size_t>(tokens * layer.heads))};
  AttendArgs args{.out = tensor(made.out.data(), {tokens, layer.heads, layer.value_dim}),
                  .q = tensor(all_q.data(), {tokens, layer.heads, layer.head_dim}),
                  .k = tensor(k.data(), {k_rows, layer.kv_heads, layer.head_dim}),
                  .v = tensor(v.data(), {k_rows, layer.kv_heads, layer.value_dim}),
                  .weights = call.weights,
                  .inputs = in,
                  .lse = tensor(made.lse.data(), {tokens, layer.heads}),
                  .parallel = {.threads = 1}};
  spoil(args);
  mpi::attend_tree(MPI_COMM_WORLD, layer, args);
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
                             .part_rows = kPartRows};
  if (!call.inputs.log_forget.empty()) args.local.d_log_forget = tensor(made.gates.data(), {k_rows, layer.heads});
  spoil(args);
  mpi::attend_ring_backward(MPI_COMM_WORLD, layer, args);
  return made;
}

}  // namespace posenc::test::mpi_test
