#include "attend/quantised/quantised_call.h"

#include <algorithm>
#include <array>

#include "attend/lowered_size.h"
#include "cpu/lower/lower.h"
#include "support/tolerances.h"

namespace posenc::test {
namespace {

bool by_channel(CacheFormat format) { return format == CacheFormat::int4_by_channel; }
bool has_scales(CacheFormat format) { return format < CacheFormat::q8_0 || by_channel(format); }
bool has_zeros(CacheFormat format) {
  return format == CacheFormat::int8_asymmetric || format == CacheFormat::int4_asymmetric || by_channel(format);
}

// The largest group of a few tokens that all of them are whole groups of.
std::int64_t group_of(std::int64_t tokens) {
  for (const std::int64_t group : {32, 8, 5, 4, 3, 2}) {
    if (tokens % group == 0) return group;
  }
  return 1;
}

std::int64_t unit_of(CacheFormat format) {
  if (format == CacheFormat::q8_0 || format == CacheFormat::q4_0 || format == CacheFormat::q5_1) return 32;
  return format == CacheFormat::int4 || format == CacheFormat::int4_asymmetric || by_channel(format) ? 2 : 1;
}

}  // namespace

QuantisedTensor::QuantisedTensor(CacheFormat format, std::int64_t rows, std::int64_t heads, std::int64_t channels,
                                 std::int64_t block_size, std::int64_t group, std::int64_t padding,
                                 DType channel_scales, Edge guard) {
  const bool is_paged = block_size > 0;
  view_ = is_paged ? quantised(static_cast<void*>(nullptr), format, {rows / block_size, block_size, heads, channels})
                   : quantised(static_cast<void*>(nullptr), format, {rows, heads, channels});
  const auto heads_axis = static_cast<std::size_t>(view_.rank - 2);
  const std::int64_t head = cache_row_bytes(format, channels) + padding;
  view_.strides[heads_axis] = head;
  view_.strides[heads_axis - 1] = head * heads;
  if (is_paged) view_.strides[0] = head * heads * block_size;
  codes_ = std::make_unique<GuardedMemory>(rows * heads * head, guard, 0);
  view_.data = codes_->data();
  std::fill_n(codes_->data(), rows * heads * head, std::byte{0xA5});
  if (!has_scales(format)) return;
  const DType dtype = by_channel(format) ? channel_scales : DType::f32;
  if (by_channel(format)) view_.group = group;
  const std::int64_t count = by_channel(format) ? rows / group * heads * channels : rows * heads;
  const auto numbers = [&](std::vector<std::byte>& memory) {
    memory.assign(static_cast<std::size_t>(count * bytes_of(dtype)), std::byte{0xFF});
    if (by_channel(format)) {
      return is_paged ? tensor(static_cast<void*>(memory.data()), dtype,
                               {rows / block_size, block_size / group, heads, channels})
                      : tensor(static_cast<void*>(memory.data()), dtype, {rows / group, heads, channels});
    }
    return is_paged ? tensor(static_cast<void*>(memory.data()), dtype, {rows / block_size, block_size, heads})
                    : tensor(static_cast<void*>(memory.data()), dtype, {rows, heads});
  };
  view_.scales = numbers(scales_);
  if (has_zeros(format)) view_.zeros = numbers(zeros_);
}

ConstQuantisedView QuantisedTensor::of_batch(std::int64_t batch) const {
  ConstQuantisedView out = view_;
  out.rank = 4;
  const std::int64_t tokens = view_.shape[0] / batch;
  out.shape = {batch, view_.shape[1], tokens, view_.shape[2]};
  out.strides = {tokens * view_.strides[0], view_.strides[1], view_.strides[0], 0};
  for (ConstTensorView* x : {&out.scales, &out.zeros}) {
    if (x->empty()) continue;
    const ConstTensorView own = *x;
    x->rank = own.rank + 1;
    const std::int64_t rows = own.shape[0] / batch;
    x->shape = {batch, own.shape[1], rows, own.shape[2]};
    x->strides = {rows * own.strides[0], own.strides[1], own.strides[0], own.strides[2]};
  }
  return out;
}

bool QuantisedCall::fits(const SchemeCall& call, const QuantisedWay& way) {
  return call.layer.head_dim % unit_of(way.k) == 0 && call.layer.value_dim % unit_of(way.v) == 0;
}

QuantisedCall::QuantisedCall(SchemeCall& call, const QuantisedWay& way) : call_(call), way_(way) {
  const bool is_batch = call.k.shape.size() == 4;
  const std::int64_t batch = is_batch ? call.k.shape[0] : 1;
  const std::int64_t tokens = is_batch ? call.k.shape[2] : call.k.shape[0];
  std::int64_t rows = batch * tokens;
  for (std::int64_t t = 0; t < rows; ++t) slots_.push_back(t);
  std::int64_t group = group_of(tokens);
  if (way.block_size > 0) {
    group = group_of(way.block_size);
    const std::int64_t blocks = (rows + way.block_size - 1) / way.block_size;
    for (std::int64_t n = blocks; n-- > 0;) table_.push_back(static_cast<std::int32_t>(n));
    for (std::int64_t& slot : slots_) {
      slot = table_[static_cast<std::size_t>(slot / way.block_size)] * way.block_size + slot % way.block_size;
    }
    rows = blocks * way.block_size;
  }
  const auto make = [&](CacheFormat format, std::int64_t channels) {
    return std::make_unique<QuantisedTensor>(format, rows, call.layer.kv_heads, channels, way.block_size, group,
                                             way.padding, way.channel_scales, way.guard);
  };
  k_ = make(way.k, call.layer.head_dim);
  v_ = make(way.v, call.layer.value_dim);
  const std::vector<float> k(call.k.values.begin(), call.k.values.end());
  const std::vector<float> v(call.v.values.begin(), call.v.values.end());
  const auto shown = [](const Tensor& like, const std::vector<float>& x) {
    TensorView out = Tensor(like).writable();
    out.data = const_cast<float*>(x.data());
    out.dtype = DType::f32;
    return ConstTensorView(out);
  };
  (void)rotate_into_cache({.k = shown(call.k, k),
                           .v = shown(call.v, v),
                           .k_quantised = k_->view(),
                           .v_quantised = v_->view(),
                           .slots = slots_});
  keep(*k_, call.k);
  keep(*v_, call.v);
}

// The rows of the call, in its own order of axes.
void QuantisedCall::keep(QuantisedTensor& x, Tensor& numbers) const {
  const QuantisedView& view = x.view();
  const auto last = static_cast<std::size_t>(view.rank - 1);
  const std::int64_t channels = view.shape[last];
  const std::int64_t heads = view.shape[last - 1];
  const std::int64_t rows = view.rank == 4 ? view.shape[0] * view.shape[1] : view.shape[0];
  std::vector<float> floats(static_cast<std::size_t>(rows * heads * channels));
  dequantise(view.rank == 4 ? tensor(floats.data(), {view.shape[0], view.shape[1], heads, channels})
                            : tensor(floats.data(), {rows, heads, channels}),
             view, view.rank == 4);
  const bool is_batch = numbers.shape.size() == 4;
  const std::int64_t tokens = is_batch ? numbers.shape[2] : numbers.shape[0];
  for (std::size_t row = 0; row < slots_.size(); ++row) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto own = static_cast<std::int64_t>(row);
      const std::int64_t to = is_batch ? (own / tokens * heads + h) * tokens + own % tokens : own * heads + h;
      std::copy_n(floats.begin() + (slots_[row] * heads + h) * channels, channels,
                  numbers.values.begin() + to * channels);
    }
  }
}

SchemeCall::Result QuantisedCall::by_kernels(Isa isa, std::int64_t threads) const {
  const bool is_batch = call_.k.shape.size() == 4;
  Tensor like{{}, call_.q.shape};
  like.shape.back() = call_.layer.value_dim;
  const std::size_t rows = call_.q.values.size() / static_cast<std::size_t>(call_.layer.head_dim);
  std::vector<float> out(rows * static_cast<std::size_t>(call_.layer.value_dim));
  std::vector<float> lse(rows);
  std::vector<float> q(call_.q.values.begin(), call_.q.values.end());
  const auto shown = [](const Tensor& shape, std::vector<float>& x) {
    TensorView view = Tensor(shape).writable();
    view.data = x.data();
    view.dtype = DType::f32;
    return view;
  };
  Tensor lse_like{{}, call_.q.shape};
  lse_like.shape.pop_back();
  LayerInputs inputs = call_.inputs;
  const std::array<std::int32_t, 2> all_q{0, static_cast<std::int32_t>(call_.sizes.queries)};
  const std::array<std::int32_t, 2> all_k{0, static_cast<std::int32_t>(call_.sizes.keys)};
  if (way_.block_size > 0) {
    inputs.cu_seqlens_q = all_q;
    inputs.cu_seqlens_k = all_k;
  }
  const auto of = [&](const QuantisedTensor& x) {
    return is_batch ? x.of_batch(call_.k.shape[0]) : ConstQuantisedView(x.view());
  };
  AttendArgs args{.out = shown(like, out),
                  .q = shown(call_.q, q),
                  .k_quantised = of(*k_),
                  .v_quantised = of(*v_),
                  .pages = {.block_table = table_},
                  .weights = call_.weights,
                  .inputs = inputs,
                  .lse = shown(lse_like, lse),
                  .parallel = {.threads = threads},
                  .isa = isa};
  std::vector<std::byte> scratch(static_cast<std::size_t>(attend_scratch_bytes(call_.layer, args)));
  args.scratch = scratch;
  (void)attend(call_.layer, args);
  return {{out.begin(), out.end()}, {lse.begin(), lse.end()}};
}

// As attend in floats (tolerances.h), of codes that are multiplied before their scales: the dequantised number is
// rounded once, and so is the product with the scale. Asymmetric values are a sum of products and one of zeros, whose
// magnitudes add up to at most three times the largest value of any channel.
SchemeCall::Result QuantisedCall::bounds(const SchemeCall::Result& wanted) const {
  const math::Lowered lowered = cpu::lower(call_.layer, call_.weights, call_.inputs, call_.sizes);
  const auto keys = static_cast<double>(call_.sizes.keys);
  const auto width = static_cast<std::size_t>(call_.layer.value_dim);
  const LoweredSizes sizes(lowered, call_, kRotatedInFloats);
  SchemeCall::Result out;
  for (std::size_t row = 0; row < wanted.lse.size(); ++row) {
    const ScoreSize of_score = sizes.score(row);
    const double score = fused_score(of_score.size, of_score.roundings + 2);
    out.lse.push_back(fused_lse(score, keys, wanted.lse[row]));
    double largest_value = 0.0;
    for (std::size_t c = 0; c < width; ++c) largest_value = std::max(largest_value, sizes.values(row, c).largest);
    for (std::size_t c = 0; c < width; ++c) {
      const Values values = sizes.values(row, c);
      const double size = has_zeros(way_.v) ? 3 * largest_value : values.largest;
      const double bound = fused_output(score, values.half_range, keys, size, values.error + 2);
      out.out.push_back(stored_error(DType::f32, wanted.out[row * width + c], bound));
    }
  }
  return out;
}

std::string QuantisedCall::text() const {
  return "keys " + std::string(name(way_.k)) + ", values " + std::string(name(way_.v)) + ", pages of " +
         std::to_string(way_.block_size);
}

}  // namespace posenc::test
