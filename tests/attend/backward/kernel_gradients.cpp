#include "attend/backward/kernel_gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>

#include "attend/fused/in_dtype.h"
#include "math/learned_tensors.h"
#include "posenc/attend.h"
#include "posenc/reference_backward.h"

namespace posenc::test {
namespace {

std::vector<std::int64_t> shape_of_view(const ConstTensorView& x) {
  return {x.shape.begin(), x.shape.begin() + x.rank};
}

std::size_t size_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

Tensor drawn(Random& random, const std::vector<std::int64_t>& shape) {
  Tensor out{std::vector<double>(size_of(shape)), shape};
  for (double& x : out.values) x = random.number();
  return out;
}

// Memory that a gradient of f64 is written to, all NaN before.
struct Written {
  std::deque<std::vector<double>> kept;
  std::vector<NamedGradient> named;

  TensorView of(Gradients& to, const std::string& name, const std::vector<std::int64_t>& shape) {
    to.all.push_back({name, {}});
    std::vector<double>& memory = kept.emplace_back(size_of(shape), NAN);
    return tensor(memory.data(), DType::f64, shape);
  }
};

}  // namespace

KernelGradients::KernelGradients(const SchemeCase& scheme, const Arrangement& arrangement, Places places,
                                 std::uint64_t seed, DType dtype, const std::vector<std::int64_t>& bias)
    : call(scheme, arrangement, places, seed), dtype_(dtype), random_(seed + 1) {
  q_ = in_dtype(call.q.values, dtype);
  k_ = in_dtype(call.k.values, dtype);
  v_ = in_dtype(call.v.values, dtype);
  std::vector<std::int64_t> shape = call.q.shape;
  shape.back() = call.layer.value_dim;
  numbers_ = {call.q, call.k, call.v, drawn(random_, shape), {}};
  d_out_ = in_dtype(numbers_.d_out.values, dtype);
  shape.pop_back();
  numbers_.d_lse = drawn(random_, shape);
  (void)in_dtype(numbers_.d_lse.values, DType::f32);
  if (bias.empty()) return;
  bias_ = drawn(random_, bias).values;
  call.inputs.bias = tensor(bias_.data(), DType::f64, bias);
}

void KernelGradients::spoil(const std::vector<std::int64_t>& keys, const std::vector<std::int64_t>& queries,
                            double with) {
  // [tokens, heads, ...], or [batch, heads, tokens, ...] where `rank` is that of a batch.
  const auto fill = [&](Tensor& x, const std::vector<std::int64_t>& tokens, std::size_t channels) {
    const bool is_batch = call.q.shape.size() == 4;
    const std::int64_t count = x.shape[is_batch ? 2 : 0];
    const std::int64_t heads = x.shape[1];
    for (std::size_t row = 0; row < x.values.size() / channels; ++row) {
      const std::int64_t own = static_cast<std::int64_t>(row);
      const std::int64_t token = is_batch ? own % count : own / heads;
      if (std::ranges::find(tokens, token) == tokens.end()) continue;
      std::fill_n(x.values.begin() + own * static_cast<std::int64_t>(channels), channels, with);
    }
  };
  const auto key_width = static_cast<std::size_t>(call.layer.head_dim);
  const auto value_width = static_cast<std::size_t>(call.layer.value_dim);
  for (Tensor* const k : {&numbers_.k, &call.k}) fill(*k, keys, key_width);
  for (Tensor* const v : {&numbers_.v, &call.v}) fill(*v, keys, value_width);
  for (Tensor* const q : {&numbers_.q, &call.q}) fill(*q, queries, key_width);
  fill(numbers_.d_out, queries, value_width);
  fill(numbers_.d_lse, queries, 1);
  if (const ConstTensorView& gate = call.inputs.row_gate; !gate.empty()) {  // [rows, heads], of the call's tables
    auto* const first = static_cast<double*>(const_cast<void*>(gate.data));
    for (std::int64_t row = 0; row < gate.shape[0]; ++row) {
      if (std::ranges::find(queries, row % call.sizes.queries) == queries.end()) continue;
      std::fill_n(first + row * gate.shape[1], gate.shape[1], with);
    }
  }
  k_ = in_dtype(numbers_.k.values, dtype_);
  v_ = in_dtype(numbers_.v.values, dtype_);
  q_ = in_dtype(numbers_.q.values, dtype_);
  d_out_ = in_dtype(numbers_.d_out.values, dtype_);
}

Gradients KernelGradients::by_kernels(Isa isa, const BackwardWay& way) {
  const auto bytes = [&](const std::vector<std::int64_t>& shape) {
    return std::vector<std::byte>(size_of(shape) * static_cast<std::size_t>(bytes_of(dtype_)), std::byte{0xFF});
  };
  std::vector<std::byte> out = bytes(numbers_.d_out.shape);
  std::vector<float> lse(size_of(numbers_.d_lse.shape));
  std::vector<float> d_lse(numbers_.d_lse.values.begin(), numbers_.d_lse.values.end());
  TensorView k = tensor(k_.data(), dtype_, call.k.shape);
  TensorView v = tensor(v_.data(), dtype_, call.v.shape);
  std::vector<std::int32_t> table;
  std::vector<std::byte> k_pages;
  std::vector<std::byte> v_pages;
  LayerInputs inputs = call.inputs;
  const std::array<std::int32_t, 2> all_q{0, static_cast<std::int32_t>(call.sizes.queries)};
  const std::array<std::int32_t, 2> all_k{0, static_cast<std::int32_t>(call.sizes.keys)};
  if (way.block_size > 0) {
    if (inputs.cu_seqlens_q.empty()) {
      inputs.cu_seqlens_q = all_q;
      inputs.cu_seqlens_k = all_k;
    }
    const std::span<const std::int32_t> ends = inputs.cu_seqlens_k;
    const std::int64_t of_sequence = (call.sizes.keys + way.block_size - 1) / way.block_size;
    const std::int64_t blocks = (std::ssize(ends) - 1) * of_sequence;
    for (std::int64_t n = blocks; n-- > 0;) table.push_back(static_cast<std::int32_t>(n));
    const auto paged = [&](const std::vector<std::byte>& rows, const Tensor& like, std::vector<std::byte>& to) {
      const auto row = static_cast<std::size_t>(like.shape[1] * like.shape[2] * bytes_of(dtype_));
      to.assign(static_cast<std::size_t>(blocks * way.block_size) * row, std::byte{0xFF});
      for (std::int64_t s = 0; s + 1 < std::ssize(ends); ++s) {
        const std::int64_t first = ends[static_cast<std::size_t>(s)];
        for (std::int64_t t = 0; t < ends[static_cast<std::size_t>(s + 1)] - first; ++t) {
          const std::int64_t block = table[static_cast<std::size_t>(s * of_sequence + t / way.block_size)];
          std::copy_n(rows.data() + static_cast<std::size_t>(first + t) * row, row,
                      to.data() + static_cast<std::size_t>(block * way.block_size + t % way.block_size) * row);
        }
      }
      return tensor(to.data(), dtype_, {blocks, way.block_size, like.shape[1], like.shape[2]});
    };
    k = paged(k_, call.k, k_pages);
    v = paged(v_, call.v, v_pages);
  }
  const TensorView q = tensor(q_.data(), dtype_, call.q.shape);
  const TensorView out_view = tensor(out.data(), dtype_, numbers_.d_out.shape);
  const TensorView lse_view = tensor(lse.data(), DType::f32, numbers_.d_lse.shape);
  const Parallel parallel{.threads = way.threads, .executor = way.executor};
  (void)attend(call.layer, {.out = out_view,
                            .q = q,
                            .k = k,
                            .v = v,
                            .pages = {.block_table = table},
                            .weights = call.weights,
                            .inputs = inputs,
                            .lse = lse_view,
                            .isa = isa});
  Gradients result;
  Written written;
  std::vector<std::byte> d_q = bytes(call.q.shape);
  std::vector<std::byte> d_k = bytes(call.k.shape);
  std::vector<std::byte> d_v = bytes(call.v.shape);
  result.all = {{"q", {}}, {"k", {}}, {"v", {}}};
  std::vector<NamedGradient> named;
  const std::vector<math::LearnedTensor> learned = math::learned_tensors(call.layer, call.weights);
  named.reserve(learned.size());
  for (const math::LearnedTensor& one : learned) {
    named.push_back({one.name, written.of(result, one.name, shape_of_view(one.tensor))});
  }
  AttendBackwardArgs args{.q = q,
                          .k = k,
                          .v = v,
                          .pages = {.block_table = table},
                          .weights = call.weights,
                          .inputs = inputs,
                          .out = out_view,
                          .lse = lse_view,
                          .d_out = tensor(d_out_.data(), dtype_, numbers_.d_out.shape),
                          .d_lse = tensor(d_lse.data(), DType::f32, numbers_.d_lse.shape),
                          .d_q = tensor(d_q.data(), dtype_, call.q.shape),
                          .d_k = tensor(d_k.data(), dtype_, call.k.shape),
                          .d_v = tensor(d_v.data(), dtype_, call.v.shape),
                          .d_weights = named,
                          .parallel = parallel,
                          .isa = isa};
  const auto input = [&](const char* name, const ConstTensorView& x, TensorView& to) {
    if (!x.empty()) to = written.of(result, name, shape_of_view(x));
  };
  input("bias", inputs.bias, args.d_bias);
  input("log_forget", inputs.log_forget, args.d_log_forget);
  input("row_gate", inputs.row_gate, args.d_row_gate);
  if (!way.only.empty()) {
    const std::array<TensorView*, 3> of_rows{&args.d_q, &args.d_k, &args.d_v};
    for (std::size_t n = 0; n < of_rows.size(); ++n) {
      if (result.all[n].name != way.only) *of_rows[n] = {};
    }
    std::erase_if(named, [&](const NamedGradient& one) { return one.name != way.only; });
    args.d_weights = named;
    if (way.only != "bias") args.d_bias = {};
    if (way.only != "log_forget") args.d_log_forget = {};
    if (way.only != "row_gate") args.d_row_gate = {};
  }
  if (way.prepared == nullptr) {
    (void)attend_backward(call.layer, args);
  } else {
    args.weights = {};
    (void)attend_backward(*way.prepared, args);
  }
  const auto numbers_of = [&](const std::vector<std::byte>& x, const std::vector<std::int64_t>& shape) {
    return cpu::read_all(
        tensor(static_cast<const void*>(x.data()), dtype_, {static_cast<std::int64_t>(size_of(shape))}));
  };
  result.all[0].values = numbers_of(d_q, call.q.shape);
  result.all[1].values = numbers_of(d_k, call.k.shape);
  result.all[2].values = numbers_of(d_v, call.v.shape);
  for (std::size_t n = 0; n < written.kept.size(); ++n) result.all[n + 3].values = written.kept[n];
  if (!way.only.empty()) std::erase_if(result.all, [&](const Gradients::One& one) { return one.name != way.only; });
  return result;
}

Gradients KernelGradients::reference_of(const Numbers& of) {
  Gradients result;
  Written written;
  const TensorView d_q = written.of(result, "q", call.q.shape);
  const TensorView d_k = written.of(result, "k", call.k.shape);
  const TensorView d_v = written.of(result, "v", call.v.shape);
  std::vector<NamedGradient> named;
  const std::vector<math::LearnedTensor> learned = math::learned_tensors(call.layer, call.weights);
  named.reserve(learned.size());
  for (const math::LearnedTensor& one : learned) {
    named.push_back({one.name, written.of(result, one.name, shape_of_view(one.tensor))});
  }
  reference::AttendBackwardArgs args{.q = of.q,
                                     .k = of.k,
                                     .v = of.v,
                                     .weights = call.weights,
                                     .inputs = call.inputs,
                                     .d_out = of.d_out,
                                     .d_lse = of.d_lse,
                                     .d_q = d_q,
                                     .d_k = d_k,
                                     .d_v = d_v,
                                     .d_weights = named};
  const auto input = [&](const char* name, const ConstTensorView& x, TensorView& to) {
    if (!x.empty()) to = written.of(result, name, shape_of_view(x));
  };
  input("bias", call.inputs.bias, args.d_bias);
  input("log_forget", call.inputs.log_forget, args.d_log_forget);
  input("row_gate", call.inputs.row_gate, args.d_row_gate);
  (void)reference::attend_backward(call.layer, args);
  for (std::size_t n = 0; n < written.kept.size(); ++n) result.all[n].values = written.kept[n];
  return result;
}

Gradients KernelGradients::by_formulas() { return reference_of(numbers_); }

// Tables and inputs of the call are moved where they stand, and put back.
Gradients KernelGradients::moved(double by, std::uint64_t seed) {
  Random random(seed);
  const auto factor = [&] { return 1.0 + by * (random.uniform() < 0.5 ? -1.0 : 1.0); };
  Numbers of = numbers_;
  for (Tensor* x : {&of.q, &of.k, &of.v, &of.d_out, &of.d_lse}) {
    for (double& y : x->values) y *= factor();
  }
  std::vector<std::pair<double*, double>> before;
  const auto move = [&](const ConstTensorView& x) {
    if (x.data == nullptr || x.empty()) return;
    auto* const first = static_cast<double*>(const_cast<void*>(x.data));
    for (std::size_t n = 0; n < size_of(shape_of_view(x)); ++n) {
      before.emplace_back(first + n, first[n]);
      first[n] *= factor();
    }
  };
  for (const math::LearnedTensor& one : math::learned_tensors(call.layer, call.weights)) move(one.tensor);
  for (const ConstTensorView& x : {call.inputs.bias, call.inputs.log_forget, call.inputs.row_gate}) move(x);
  Gradients result = reference_of(of);
  for (const auto& [place, number] : before) *place = number;
  return result;
}

}  // namespace posenc::test
