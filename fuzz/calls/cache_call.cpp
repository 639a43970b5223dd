#include "fuzz/calls/cache_call.h"

#include <algorithm>

#include "fuzz/calls/checked_call.h"

namespace posenc::fuzz {
namespace {

constexpr std::array kDTypes{DType::f32, DType::bf16, DType::f16};
constexpr std::array<std::int64_t, 8> kTokens{3, 1, 2, 5, 9, 0, 17, 66};
constexpr std::array<double, 6> kEpsilons{1e-6, 1e-5, 0.0, 0.25, 1e3, 1e-12};

}  // namespace

CacheCall::CacheCall(Arguments& arguments, Slots& slots) : rotation_(rotation_of(arguments, rope_of(arguments))) {
  const std::int64_t tokens = arguments.choice(kTokens);
  const std::int64_t batch = arguments.chance(64) ? arguments.whole(1, 3) : 0;  // 0: rank 3
  const std::int64_t heads = arguments.whole(1, 3);
  const std::int64_t rows = std::max<std::int64_t>(batch, 1) * tokens;
  const auto take = [&](std::int64_t channels) {
    const DType dtype = arguments.choice(kDTypes);
    return batch > 0 ? slots.take(arguments, dtype, {batch, heads, tokens, channels})
                     : slots.take(arguments, dtype, {tokens, heads, channels});
  };
  const std::int64_t room = rows + arguments.whole(0, 5);
  const bool is_paged = arguments.chance(128);
  const std::int64_t block_size = arguments.whole(1, 4);
  const auto take_cache = [&](std::int64_t channels) {
    const DType dtype = arguments.choice(kDTypes);
    if (!is_paged) return slots.take(arguments, dtype, {room, heads, channels});
    return slots.take(arguments, dtype, {(room + block_size - 1) / block_size, block_size, heads, channels});
  };
  args.k = take(rotation_.rope.head_dim);
  args.k_cache = take_cache(rotation_.rope.head_dim);
  if (!arguments.chance(64)) {
    const std::int64_t value_dim = arguments.whole(1, 20);
    args.v = take(value_dim);
    args.v_cache = take_cache(value_dim);
  }
  give_slots(arguments, rows, room);
  const auto axes = std::ssize(rotation_.table.layout().axes.names);
  positions_.emplace(arguments, axes * rows, rotation_.options.start);
  args.positions = positions_->view();
  if (!arguments.chance(48)) args.table = &rotation_.table;
  if (arguments.chance(128)) give_norm(arguments, slots, heads);
  args.isa = isa_of(arguments);
  args.parallel = parallel_of(arguments);
  if (batch == 0 && arguments.chance(32)) {
    cu_seqlens_ = {0, static_cast<std::int32_t>(tokens / 2), static_cast<std::int32_t>(tokens)};
  }
  for (int n = arguments.spoils(); n > 0; --n) spoil(arguments, slots);
  args.slots = slots_;
  args.cu_seqlens = cu_seqlens_;
}

// In an order of their own, some of them none.
void CacheCall::give_slots(Arguments& arguments, std::int64_t tokens, std::int64_t rows) {
  const std::uint8_t turned = arguments.byte();
  const bool descends = arguments.chance(64);
  const bool has_holes = arguments.chance(64);
  for (std::int64_t n = 0; n < tokens; ++n) {
    const std::int64_t slot = ((descends ? rows - 1 - n : n) + turned) % std::max<std::int64_t>(rows, 1);
    slots_.push_back(has_holes && n % 3 == 1 ? -1 : slot);
  }
}

void CacheCall::give_norm(Arguments& arguments, Slots& slots, std::int64_t heads) {
  KeyNorm norm{.scheme = {.kind = arguments.enumerator(QkNorm::Kind::layer),
                          .order = arguments.enumerator(QkNorm::Order::after),
                          .weighted = !arguments.chance(96),
                          .over = arguments.enumerator(QkNorm::Over::all_heads)}};
  norm.epsilon = arguments.chance(8) ? arguments.odd_real() : arguments.choice(kEpsilons);
  const std::int64_t d = rotation_.rope.head_dim;
  const auto take = [&](std::uint8_t shape) -> ConstTensorView {
    const DType dtype = arguments.choice(kDTypes);
    if (shape % 4 == 3) return slots.take(arguments, dtype, {heads, d});
    const bool of_one_head = norm.scheme.over == QkNorm::Over::head && shape % 4 < 2;
    return slots.take(arguments, dtype, {of_one_head ? d : heads * d});
  };
  if (norm.scheme.weighted) {
    const std::uint8_t shape = arguments.byte();
    norm.weight = take(shape);
    norm.weight_plus_one = arguments.chance(64);
    if (norm.scheme.kind == QkNorm::Kind::layer && arguments.chance(128)) norm.bias = take(shape);
  }
  args.norm = norm;
}

void CacheCall::spoil(Arguments& arguments, const Slots& slots) {
  const auto spoil_view = [&](auto& view) {
    const std::array<TensorView, 2> others{args.k_cache, args.v_cache};
    TensorView changed{const_cast<void*>(view.data), view.dtype, view.rank, view.shape, view.strides};
    slots.spoil(arguments, changed, arguments.choice(others));
    view = changed;
  };
  switch (arguments.byte() % 10) {
    case 0: return spoil_view(args.k);
    case 1: return spoil_view(args.v);
    case 2: return spoil_view(args.k_cache);
    case 3: return spoil_view(args.v_cache);
    case 4:
      if (args.norm) spoil_view(args.norm->weight);
      return;
    case 5:
      if (args.norm) spoil_view(args.norm->bias);
      return;
    case 6: slots_.resize(static_cast<std::size_t>(arguments.whole(0, 12)), arguments.whole(-2, 12)); return;
    case 7:
      if (!slots_.empty()) slots_[arguments.byte() % slots_.size()] = arguments.whole(-2, 70);
      return;
    case 8:
      if (!slots_.empty()) slots_[arguments.byte() % slots_.size()] = arguments.odd_whole();
      return;
    default: cu_seqlens_.assign(2, static_cast<std::int32_t>(arguments.odd_whole())); return;
  }
}

TensorView row_of_cache(const TensorView& cache, std::int64_t slot) {
  const bool is_paged = cache.rank == 4;
  const std::size_t heads = is_paged ? 2 : 1;
  const std::int64_t offset = is_paged
                                  ? slot / cache.shape[1] * cache.strides[0] + slot % cache.shape[1] * cache.strides[1]
                                  : slot * cache.strides[0];
  return {.data = static_cast<std::byte*>(cache.data) + offset * bytes_of(cache.dtype),
          .dtype = cache.dtype,
          .rank = 2,
          .shape = {cache.shape[heads], cache.shape[heads + 1]},
          .strides = {cache.strides[heads], cache.strides[heads + 1]}};
}

std::vector<TensorView> CacheCall::written() const {
  std::vector<TensorView> out;
  for (const TensorView& cache : {args.k_cache, args.v_cache}) {
    if (cache.empty() || cache.data == nullptr) continue;
    for (const std::int64_t slot : args.slots) {
      if (slot >= 0) out.push_back(row_of_cache(cache, slot));
    }
  }
  return out;
}

std::vector<ConstTensorView> CacheCall::read() const {
  std::vector<ConstTensorView> out;
  for (const ConstTensorView& x : {args.k, args.v}) {
    if (!x.empty()) out.push_back(x);
  }
  if (args.norm && !args.norm->weight.empty()) out.push_back(args.norm->weight);
  if (args.norm && !args.norm->bias.empty()) out.push_back(args.norm->bias);
  return out;
}

}  // namespace posenc::fuzz
