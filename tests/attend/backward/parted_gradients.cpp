// The same gradients over parts of the keys, as ring attention has them: attend on each part, from the last to the
// first, with what gates have added up to; merge; attend_backward on each part, from the first to the last, with what
// the gates of the parts before are owed.
#include <algorithm>
#include <numeric>

#include "attend/backward/kernel_gradients.h"
#include "math/learned_tensors.h"
#include "posenc/attend.h"
#include "support/random_tensor.h"

namespace posenc::test {
namespace {

struct Part {
  std::int64_t first;
  std::int64_t end;
  std::vector<std::int64_t> order{};
  std::vector<std::int64_t> places{};
  std::vector<std::int32_t> segments{};
  LayerInputs inputs{};
  std::vector<float> out{}, lse{}, carry{};  // carry: as it came
};

template <typename View>
View rows(View x, std::int64_t first, std::int64_t end) {
  x.data = const_cast<char*>(static_cast<const char*>(x.data) + first * x.strides[0] * bytes_of(x.dtype));
  x.shape[0] = end - first;
  return x;
}

// Inputs of keys first .. end - 1, in `part`, which must stay where it is.
void take_inputs(const SchemeCall& call, const std::vector<std::int64_t>& q_order, Part& part) {
  part.order.resize(static_cast<std::size_t>(part.end - part.first));
  std::iota(part.order.begin(), part.order.end(), part.first);
  part.inputs = call.inputs;
  part.inputs.q_order = q_order;
  part.inputs.k_order = part.order;
  if (call.inputs.k_positions) {
    const auto axes = std::get<std::span<const std::int64_t>>(*call.inputs.k_positions);
    for (std::int64_t axis = 0; axis * call.sizes.keys < std::ssize(axes); ++axis) {
      const auto from = axes.begin() + axis * call.sizes.keys;
      part.places.insert(part.places.end(), from + part.first, from + part.end);
    }
    part.inputs.k_positions = std::span<const std::int64_t>(part.places);
  }
  if (!call.inputs.k_segments.empty()) {
    const auto from = call.inputs.k_segments.begin();
    part.segments.assign(from + part.first, from + part.end);
    part.inputs.k_segments = part.segments;
  }
  if (!call.inputs.log_forget.empty()) {
    part.inputs.log_forget = rows(call.inputs.log_forget, part.first, part.end);
  }
}

std::int64_t sums_along_keys(const LayerPlan& layer) {
  return std::ranges::count_if(layer.score, [](const ScoreTerm& term) {
    return std::holds_alternative<ContextualPosition>(term) || std::holds_alternative<ForgetGate>(term);
  });
}

void add(std::vector<double>& to, const std::vector<double>& more) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += more[n];
}

}  // namespace

Gradients KernelGradients::by_parts(Isa isa, const std::vector<std::int64_t>& cuts) {
  const std::int64_t queries = call.sizes.queries;
  const std::int64_t heads = call.layer.heads;
  const auto floats = [](const std::vector<double>& x) { return std::vector<float>(x.begin(), x.end()); };
  std::vector<float> q = floats(numbers_.q.values);
  std::vector<float> k = floats(numbers_.k.values);
  std::vector<float> v = floats(numbers_.v.values);
  const std::vector<float> d_out = floats(numbers_.d_out.values);
  const std::vector<float> d_lse = floats(numbers_.d_lse.values);
  const auto q_view = tensor(q.data(), {queries, heads, call.layer.head_dim});
  const auto k_view = tensor(k.data(), {call.sizes.keys, call.layer.kv_heads, call.layer.head_dim});
  const auto v_view = tensor(v.data(), {call.sizes.keys, call.layer.kv_heads, call.layer.value_dim});
  const auto as_out = [&](auto& x) { return tensor(x.data(), {queries, heads, call.layer.value_dim}); };
  const auto as_lse = [&](auto& x) { return tensor(x.data(), {queries, heads}); };
  const std::size_t numbers = static_cast<std::size_t>(queries * heads);
  const std::int64_t sums_of_layer = sums_along_keys(call.layer);
  const auto as_carry = [&](auto& x) {
    return sums_of_layer == 1 ? as_lse(x) : tensor(x.data(), {sums_of_layer, queries, heads});
  };
  std::vector<std::int64_t> q_order(static_cast<std::size_t>(queries));
  std::iota(q_order.begin(), q_order.end(), call.sizes.keys - queries);

  LayerPlan without_sinks = call.layer;
  without_sinks.sinks = false;
  LayerWeights weights = call.weights;
  weights.sinks = {};
  std::vector<Part> parts;
  for (std::size_t n = 0; n + 1 < cuts.size(); ++n) parts.push_back({cuts[n], cuts[n + 1]});
  std::vector<float> carry(numbers * static_cast<std::size_t>(sums_of_layer));
  for (std::size_t n = parts.size(); n-- > 0;) {
    Part& part = parts[n];
    take_inputs(call, q_order, part);
    part.out.resize(numbers * static_cast<std::size_t>(call.layer.value_dim));
    part.lse.resize(numbers);
    part.carry = carry;
    (void)attend(without_sinks, {.out = as_out(part.out),
                                 .q = q_view,
                                 .k = rows(k_view, part.first, part.end),
                                 .v = rows(v_view, part.first, part.end),
                                 .weights = weights,
                                 .inputs = part.inputs,
                                 .lse = as_lse(part.lse),
                                 .carry = sums_of_layer > 0 ? as_carry(carry) : TensorView{},
                                 .isa = isa});
  }
  std::vector<AttendPart> results;
  for (Part& part : parts) results.push_back({as_out(part.out), as_lse(part.lse)});
  std::vector<float> out(parts[0].out.size());
  std::vector<float> lse(numbers);
  merge({.out = as_out(out),
         .lse = as_lse(lse),
         .parts = results,
         .sinks = call.layer.sinks ? call.weights.sinks : ConstTensorView{}});

  Gradients sums;
  const std::vector<math::LearnedTensor> learned = math::learned_tensors(call.layer, call.weights);
  const auto zeros = [](std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count)); };
  sums.all = {{"q", zeros(std::ssize(q))}, {"k", zeros(std::ssize(k))}, {"v", zeros(std::ssize(v))}};
  const auto count_of = [](const ConstTensorView& x) {
    return std::accumulate(x.shape.begin(), x.shape.begin() + x.rank, std::int64_t{1}, std::multiplies<>());
  };
  for (const math::LearnedTensor& one : learned) sums.all.push_back({one.name, zeros(count_of(one.tensor))});
  const bool has_gates = !call.inputs.log_forget.empty();
  const bool has_row_gate = !call.inputs.row_gate.empty();
  if (has_gates) sums.all.push_back({"log_forget", zeros(count_of(call.inputs.log_forget))});
  if (has_row_gate) sums.all.push_back({"row_gate", zeros(count_of(call.inputs.row_gate))});
  std::vector<float> d_carry(carry.size());
  std::vector<float> d_k(k.size());
  std::vector<float> d_v(v.size());
  std::vector<double> d_gates = zeros(call.sizes.keys * heads);
  for (const Part& part : parts) {
    std::vector<float> d_q(q.size());
    std::vector<std::vector<double>> of_learned;
    std::vector<NamedGradient> named;
    for (const math::LearnedTensor& one : learned) {
      of_learned.push_back(zeros(count_of(one.tensor)));
      const std::span shape = std::span(one.tensor.shape).first(static_cast<std::size_t>(one.tensor.rank));
      named.push_back({one.name, tensor(of_learned.back().data(), DType::f64, shape)});
    }
    std::vector<double> d_row_gate = zeros(queries * heads);
    AttendBackwardArgs args{.q = q_view,
                            .k = rows(k_view, part.first, part.end),
                            .v = rows(v_view, part.first, part.end),
                            .weights = call.weights,
                            .inputs = part.inputs,
                            .out = as_out(out),
                            .lse = as_lse(lse),
                            .d_out = as_out(d_out),
                            .d_lse = as_lse(d_lse),
                            .carry = sums_of_layer > 0 ? as_carry(part.carry) : ConstTensorView{},
                            .d_q = tensor(d_q.data(), {queries, heads, call.layer.head_dim}),
                            .d_weights = named,
                            .d_carry = sums_of_layer > 0 ? as_carry(d_carry) : TensorView{},
                            .isa = isa};
    args.d_k =
        rows(tensor(d_k.data(), {call.sizes.keys, call.layer.kv_heads, call.layer.head_dim}), part.first, part.end);
    args.d_v =
        rows(tensor(d_v.data(), {call.sizes.keys, call.layer.kv_heads, call.layer.value_dim}), part.first, part.end);
    if (has_gates) args.d_log_forget = rows(tensor(d_gates.data(), {call.sizes.keys, heads}), part.first, part.end);
    if (has_row_gate) args.d_row_gate = tensor(d_row_gate.data(), {queries, heads});
    (void)attend_backward(call.layer, args);
    add(sums.all[0].values, {d_q.begin(), d_q.end()});
    for (std::size_t n = 0; n < learned.size(); ++n) {
      if (learned[n].name == "sinks" && &part != parts.data()) continue;  // they count once
      add(sums.all[n + 3].values, of_learned[n]);
    }
    if (has_row_gate) add(sums.all.back().values, d_row_gate);
  }
  sums.all[1].values.assign(d_k.begin(), d_k.end());
  sums.all[2].values.assign(d_v.begin(), d_v.end());
  if (has_gates) sums.all[learned.size() + 3].values = d_gates;
  return sums;
}

}  // namespace posenc::test
