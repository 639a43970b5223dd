#include "fuzz/calls/attend_call.h"

#include <algorithm>
#include <cstring>

#include "fuzz/calls/checked_call.h"
#include "fuzz/calls/elements.h"
#include "fuzz/calls/scheme_layers.h"
#include "fuzz/calls/weight_views.h"
#include "posenc/cache.h"
#include "reference/elements.h"
#include "rotate/cache_tensors.h"

namespace posenc::fuzz {
namespace {

constexpr std::array kDTypes{DType::f32, DType::bf16, DType::f16, DType::f32};

std::span<const std::int64_t> shape_of(const test::Tensor& x) { return x.shape; }

test::Tensor numbers_of(const ConstTensorView& x) {
  test::Tensor out{{}, {x.shape.begin(), x.shape.begin() + x.rank}};
  for_offsets(x, [&](std::int64_t offset) { out.values.push_back(reference::read(x, offset)); });
  return out;
}

// A paged cache as the tensor of all its tokens.
test::Tensor tokens_of(const ConstTensorView& x, std::span<const std::int32_t> ends,
                       std::span<const std::int32_t> table) {
  test::Tensor out{{}, {ends.back(), x.shape[2], x.shape[3]}};
  const std::int64_t of_sequence = std::ssize(table) / (std::ssize(ends) - 1);
  for (std::size_t s = 0; s + 1 < ends.size(); ++s) {
    for (std::int64_t n = 0; n < ends[s + 1] - ends[s]; ++n) {
      const std::int64_t block =
          table[s * static_cast<std::size_t>(of_sequence) + static_cast<std::size_t>(n / x.shape[1])];
      ConstTensorView token{.data = at(x, block * x.strides[0] + n % x.shape[1] * x.strides[1]),
                            .dtype = x.dtype,
                            .rank = 2,
                            .shape = {x.shape[2], x.shape[3]},
                            .strides = {x.strides[2], x.strides[3]}};
      for_offsets(token, [&](std::int64_t offset) { out.values.push_back(reference::read(token, offset)); });
    }
  }
  return out;
}

}  // namespace

AttendCall::AttendCall(Arguments& arguments, Slots& slots, Stored stored) {
  test::SchemeCase scheme = scheme_of(arguments);
  test::Arrangement arrangement = arrangement_of(arguments);
  for (int n = arguments.spoils(); n > 0; --n) change_layer(arguments, scheme.layer);
  auto places = static_cast<test::Places>(arguments.byte() % 5);
  if (!test::fits(scheme, arrangement, places)) places = test::Places::scattered;
  if (scheme.batches_only && arrangement.batch == 0) {
    arrangement.batch = 1;
    arrangement.cu_seqlens_q = arrangement.cu_seqlens_k = {};
  }
  call_.emplace(scheme, arrangement, places, arguments.byte());
  layer = call_->layer;
  args.inputs = call_->inputs;
  args.weights = call_->weights;
  if (arguments.chance(64)) move_weights(arguments, slots);
  give_tensors(arguments, slots);
  give_inputs(arguments, slots);
  if (arguments.chance(24)) args.angles = arguments.enumerator(Angles::bfloat16);
  if (arguments.chance(48)) args.products = arguments.enumerator(Products::bf16);
  args.isa = isa_of(arguments);
  args.parallel = parallel_of(arguments);
  for (int n = arguments.spoils(); n > 0; --n) spoil(arguments, slots);
  if (stored == Stored::plain) return;
  if (arguments.chance(64)) give_codes(arguments, args.k, args.k_quantised);
  if (arguments.chance(64)) give_codes(arguments, args.v, args.v_quantised);
}

void AttendCall::give_tensors(Arguments& arguments, Slots& slots) {
  const DType dtype = arguments.choice(kDTypes);
  const bool differ = arguments.chance(32);
  const auto own = [&] { return differ ? arguments.choice(kDTypes) : dtype; };
  std::vector<std::int64_t> shape = call_->q.shape;
  args.q = slots.take(arguments, own(), shape);
  shape.back() = layer.value_dim;
  args.out = slots.take(arguments, own(), shape);
  shape.pop_back();
  if (!arguments.chance(48)) args.lse = slots.take(arguments, DType::f32, shape);
  if (!call_->inputs.cu_seqlens_k.empty() && arguments.chance(96)) return give_pages(arguments, slots, own());
  args.k = slots.take(arguments, own(), shape_of(call_->k));
  args.v = slots.take(arguments, own(), shape_of(call_->v));
}

void AttendCall::give_pages(Arguments& arguments, Slots& slots, DType dtype) {
  const std::span<const std::int32_t> ends = call_->inputs.cu_seqlens_k;
  const std::int64_t block_size = arguments.whole(1, 20);
  const std::int64_t blocks_of = std::max<std::int64_t>((call_->sizes.keys + block_size - 1) / block_size, 1);
  const std::int64_t blocks = blocks_of * (std::ssize(ends) - 1);
  const std::int64_t turned = arguments.byte();
  for (std::int64_t n = 0; n < blocks; ++n) {
    block_table_.push_back(static_cast<std::int32_t>((blocks - 1 - n + turned) % blocks));
  }
  args.k = slots.take(arguments, dtype, {blocks, block_size, layer.kv_heads, layer.head_dim});
  args.v = slots.take(arguments, dtype, {blocks, block_size, layer.kv_heads, layer.value_dim});
  args.pages.block_table = block_table_;
}

void AttendCall::give_inputs(Arguments& arguments, Slots& slots) {
  LayerInputs& in = args.inputs;
  const auto full = [&] {  // [batch or 1, heads or 1, queries or 1, keys or 1]
    const std::uint8_t ones = arguments.byte();
    const math::CallSizes& sizes = call_->sizes;
    return slots.take(arguments, DType::f32,
                      {(ones & 1U) != 0 ? 1 : sizes.batch, (ones & 2U) != 0 ? 1 : layer.heads,
                       (ones & 4U) != 0 ? 1 : sizes.queries, (ones & 8U) != 0 ? 1 : sizes.keys});
  };
  if (arguments.chance(32)) in.bias = full();
  if (arguments.chance(32) || (layer.mask.kind == MaskKind::sparse && in.attn_mask.empty())) {
    const TensorView mask = full();
    for_offsets(mask, [&](std::int64_t offset) {
      if (mask.data != nullptr && reference::read(mask, offset) < -1) test::set(mask, offset, 0.0);
    });
    in.attn_mask = mask;
  }
  if (arguments.chance(16)) in.q_rotated = true;
  if (arguments.chance(16)) in.k_rotated = true;
  if (arguments.chance(24)) in.length = arguments.chance(64) ? arguments.odd_whole() : arguments.whole(1, 200);
}

// Their numbers in other dtypes, at other strides, at a page that nobody may touch.
void AttendCall::move_weights(Arguments& arguments, Slots& slots) {
  constexpr std::array kAny{DType::f32, DType::bf16, DType::f16, DType::f64};
  constexpr int kMost = 3;
  int moved = 0;
  for (ConstTensorView* const view : views_of(args.weights)) {
    if (view->empty() || moved++ == kMost) continue;
    const TensorView to = slots.take(arguments, arguments.choice(kAny),
                                     std::span(view->shape).first(static_cast<std::size_t>(view->rank)));
    if (to.data == nullptr) continue;
    std::vector<double> numbers = numbers_of(*view).values;
    std::size_t n = 0;
    for_offsets(to, [&](std::int64_t offset) {
      if (to.dtype == DType::f64) {
        std::memcpy(static_cast<double*>(to.data) + offset, &numbers[n++], sizeof(double));
      } else {
        test::set(to, offset, numbers[n++]);
      }
    });
    *view = to;
  }
}

void AttendCall::spoil(Arguments& arguments, const Slots& slots) {
  const auto spoil_view = [&](auto& view) {
    const std::array<TensorView, 3> others{
        args.out, args.lse, {const_cast<void*>(args.k.data), args.k.dtype, args.k.rank, args.k.shape, args.k.strides}};
    TensorView changed{const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
    slots.spoil(arguments, changed, arguments.choice(others));
    view = changed;
  };
  switch (arguments.byte() % 14) {
    case 0: return spoil_view(args.out);
    case 1: return spoil_view(args.q);
    case 2: return spoil_view(args.k);
    case 3: return spoil_view(args.v);
    case 4: return spoil_view(args.lse);
    case 5: return spoil_view(args.inputs.bias);
    case 6: return spoil_view(args.inputs.attn_mask);
    case 7: return spoil_view(args.inputs.log_forget);
    case 8: return spoil_view(args.inputs.row_gate);
    case 9: args.carry = args.lse; return spoil_view(args.carry);
    case 10: {
      const std::vector<ConstTensorView*> views = views_of(args.weights);
      has_sound_weights_ = false;
      return spoil_view(*views[arguments.byte() % views.size()]);
    }
    case 11:
      if (block_table_.empty()) {
        block_table_.push_back(0);
      } else {
        block_table_[arguments.byte() % block_table_.size()] = static_cast<std::int32_t>(arguments.odd_whole());
      }
      args.pages.block_table = block_table_;
      return;
    case 12:
      if (!args.weights.score.empty()) args.weights.score.pop_back();
      return;
    default: return spoil_inputs(arguments);
  }
}

// Another length of a list, or an odd number in it.
void AttendCall::spoil_inputs(Arguments& arguments) {
  LayerInputs& in = args.inputs;
  const auto size = static_cast<std::size_t>(arguments.whole(0, 24));
  const auto at = [&](auto& list) -> auto& { return list[arguments.byte() % list.size()]; };
  const std::uint8_t which = arguments.byte();
  list_.assign(size, arguments.whole(0, 12));
  narrow_list_.assign(size, static_cast<std::int32_t>(arguments.whole(0, 12)));
  real_list_.assign(size, static_cast<double>(arguments.whole(0, 12)));
  if (size > 0) {
    at(list_) = arguments.odd_whole();
    at(narrow_list_) = static_cast<std::int32_t>(arguments.odd_whole());
    at(real_list_) = arguments.odd_real();
  }
  switch (which % 12) {
    case 0: in.q_order = list_; return;
    case 1: in.k_order = list_; return;
    case 2: in.cu_seqlens_q = narrow_list_; return;
    case 3: in.cu_seqlens_k = narrow_list_; return;
    case 4: in.q_segments = narrow_list_; return;
    case 5: in.k_segments = narrow_list_; return;
    case 6: in.q_positions = std::span<const double>(real_list_); return;
    case 7: in.k_positions = std::span<const std::int64_t>(list_); return;
    case 8: in.q_positions = PositionRange{arguments.odd_whole()}; return;
    case 9: in.k_positions = PositionRange{arguments.odd_whole()}; return;
    case 10: in.prefix = arguments.odd_whole(); return;
    default: in.q_positions = std::span<const std::int32_t>(narrow_list_); return;
  }
}

std::vector<TensorView> AttendCall::written() const {
  std::vector<TensorView> out;
  for (const TensorView& x : {args.out, args.lse, args.carry}) {
    if (!x.empty()) out.push_back(x);
  }
  return out;
}

std::vector<ConstTensorView> AttendCall::read() const {
  std::vector<ConstTensorView> out;
  for (const ConstTensorView& x : {args.q, args.k, args.v}) {
    if (!x.empty()) out.push_back(x);
  }
  return out;
}

test::SchemeCall& AttendCall::in_double(const Slots& slots) {
  test::SchemeCall& call = *call_;
  call.layer = layer;
  call.weights = args.weights;
  call.inputs = args.inputs;
  call.q = numbers_of(slots.remembered(args.q));
  std::vector<float> floats;
  const auto floats_of = [&](const ConstQuantisedView& x, std::vector<float>& to) {
    TensorView out{.dtype = DType::f32, .rank = x.rank, .shape = x.shape};
    std::int64_t count = 1;
    for (std::size_t axis = static_cast<std::size_t>(x.rank); axis-- > 0;) {
      out.strides[axis] = count;
      count *= x.shape[axis];
    }
    to.assign(static_cast<std::size_t>(count), 0.0F);
    out.data = to.data();
    dequantise(out, x, !args.pages.block_table.empty());
    return ConstTensorView(out);
  };
  const auto of_keys = [&](const ConstTensorView& x, const ConstQuantisedView& codes) {
    const ConstTensorView before = codes.empty() ? slots.remembered(x) : floats_of(codes, floats);
    if (args.pages.block_table.empty()) return numbers_of(before);
    return tokens_of(before, args.inputs.cu_seqlens_k, args.pages.block_table);
  };
  call.k = of_keys(args.k, args.k_quantised);
  call.v = of_keys(args.v, args.v_quantised);
  const bool is_batch = args.q.rank == 4;
  const std::size_t tokens = is_batch ? 2 : 0;
  call.sizes = {.batch = is_batch ? args.q.shape[0] : 1, .queries = args.q.shape[tokens], .keys = call.k.shape[tokens]};
  return call;
}

}  // namespace posenc::fuzz
