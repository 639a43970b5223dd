// One token's keys and values into its slot of the KV cache: QK norm, RoPE, conversion; straight from memory to memory
// where the dtypes agree and nothing is computed.
//
//   k_cache[slot] = R norm(k) or norm(R k),  v_cache[slot] = v      arrangement: posenc/cache.h
#include "cpu/cache/cache_rows.h"

#include <algorithm>
#include <cstring>

namespace posenc::cpu {
namespace {

const void* moved(const void* p, std::int64_t bytes) { return static_cast<const char*>(p) + bytes; }
void* moved(void* p, std::int64_t bytes) { return static_cast<char*>(p) + bytes; }

// `count` elements of each of some heads.
struct Heads {
  kernels::Element element;
  std::int64_t element_bytes;
  std::int64_t head;  // stride
};
constexpr Heads in_scratch(std::int64_t head_dim) { return {kernels::Element::f32, sizeof(float), head_dim}; }

// By the conversion kernel where the dtypes differ, else as bytes: in one copy where the heads are adjacent on both
// sides.
void move_heads(const kernels::KernelTable& kernels, const Heads& from_heads, const void* from, const Heads& to_heads,
                void* to, std::int64_t heads, std::int64_t count) {
  if (from_heads.element != to_heads.element) {
    kernels.convert({.from_element = from_heads.element,
                     .to_element = to_heads.element,
                     .rows = heads,
                     .count = count,
                     .from = from,
                     .from_row = from_heads.head,
                     .to = to,
                     .to_row = to_heads.head});
    return;
  }
  const std::int64_t bytes = from_heads.element_bytes;
  if (from_heads.head == count && to_heads.head == count) {
    std::memcpy(to, from, static_cast<std::size_t>(heads * count * bytes));
    return;
  }
  for (std::int64_t h = 0; h < heads; ++h) {
    std::memcpy(moved(to, h * to_heads.head * bytes), moved(from, h * from_heads.head * bytes),
                static_cast<std::size_t>(count * bytes));
  }
}

Heads read_heads(const HeadsView& x) { return {x.element, x.element_bytes, x.from_strides.head}; }
Heads written_heads(const HeadsView& x) { return {x.element, x.element_bytes, x.to_strides.head}; }

// Head 0 of a row of k or v, counted through the batch.
const void* row_of(const HeadsView& x, const RotateCall& call, std::int64_t row) {
  const RowOfBatch at = row_of_batch(call, row);
  const std::int64_t elements = at.member * x.from_strides.batch + at.row * x.from_strides.row;
  return moved(x.from, elements * x.element_bytes);
}

// Head 0 of a slot. In a paged cache a slot is block * block_size + place in the block.
void* place_of(const HeadsView& cache, std::int64_t slot) {
  std::int64_t elements = slot * cache.to_strides.row;
  if (cache.block_size > 0) {
    elements = slot / cache.block_size * cache.to_strides.batch + slot % cache.block_size * cache.to_strides.row;
  }
  return moved(cache.to, elements * cache.element_bytes);
}

// Scales, or zeros, of head 0 of a slot.
float* numbers_of(const CodesView& codes, const Places& numbers, std::int64_t slot) {
  if (numbers.data == nullptr) return nullptr;
  return reinterpret_cast<float*>(numbers.at(slot / codes.tokens, slot % codes.tokens, 0));
}

// Heads first .. of a row in scratch, as floats that follow each other, to codes and their scales.
void encode_heads(const kernels::KernelTable& kernels, const CodesView& codes, std::int64_t slot, std::int64_t first,
                  std::int64_t heads, const float* from) {
  const auto at_head = [&](const Places& numbers) {
    float* const head = numbers_of(codes, numbers, slot);
    return head == nullptr ? nullptr : head + first * numbers.head_stride;
  };
  kernels.codes->encode({.codes = codes.facts->codes,
                         .rows = heads,
                         .count = codes.channels,
                         .from = from,
                         .from_row = codes.channels,
                         .to = codes.rows.at(slot / codes.tokens, slot % codes.tokens, first),
                         .to_row = codes.rows.head_stride,
                         .scale = at_head(codes.scales),
                         .scale_row = codes.scales.head_stride,
                         .zero = at_head(codes.zeros),
                         .zero_row = codes.zeros.head_stride,
                         .fixed_scale = codes.fixed_scale});
}

std::int64_t size_of(const ConstTensorView& x) {
  return x.empty() ? 0 : x.rank == 1 ? x.shape[0] : x.shape[0] * x.shape[1];
}

// Floats that the norm's weights and biases take.
std::int64_t weights_of(const CacheArgs& args) {
  return args.norm ? size_of(args.norm->weight) + size_of(args.norm->bias) : 0;
}

// From memory to memory, without scratch: the rotation kernel itself reads k and writes the cache.
bool goes_straight(const CacheArgs& args, const CacheCall& call) {
  return !args.norm && call.k_codes.facts == nullptr && call.rows.tensors[1].element == call.k_cache.element;
}

// Values whose heads are in scratch together, on their way to codes.
std::int64_t values_together(const CacheCall& call, std::int64_t values) {
  if (call.v_codes.facts == nullptr) return 0;
  return std::min(call.v_cache.heads, std::max<std::int64_t>(1, values / std::max<std::int64_t>(1, call.value_dim)));
}

// Heads whose keys are in scratch together: those that one norm is over, else as many as it holds, or one.
std::int64_t heads_together(const CacheArgs& args, const CacheCall& call, std::int64_t values) {
  if (goes_straight(args, call)) return 0;
  const std::int64_t heads = call.k_cache.heads;
  if (args.norm && args.norm->scheme.over == QkNorm::Over::all_heads) return heads;
  return std::min(heads, std::max<std::int64_t>(1, values / std::max<std::int64_t>(1, call.head_dim)));
}

std::int64_t scratch_floats(const CacheArgs& args, const CacheCall& call, std::int64_t values) {
  return std::max(heads_together(args, call, values) * call.head_dim, values_together(call, values) * call.value_dim);
}

}  // namespace

CacheRows::CacheRows(const CacheArgs& args, const CacheCall& call, const kernels::KernelTable& kernels)
    : args_(args),
      call_(call),
      kernels_(kernels),
      straight_(goes_straight(args, call)),
      heads_at_once_(heads_together(args, call, kValues)),
      heads_(scratch_floats(args, call, kValues)),
      weights_(weights_of(args)) {
  if (!args.norm) return;
  weight_ = as_floats(args.norm->weight, args.norm->weight_plus_one, weights_.data());
  bias_ = as_floats(args.norm->bias, false, weights_.data() + size_of(args.norm->weight));
}

bool CacheRows::allocates(const CacheArgs& args, const CacheCall& call) noexcept {
  return scratch_floats(args, call, kValues) > kValues || weights_of(args) > kValues;
}

// Null for no tensor; the tensor itself where its elements are what is wanted.
const float* CacheRows::as_floats(const ConstTensorView& x, bool plus_one, float* out) const {
  if (x.empty()) return nullptr;
  if (x.dtype == DType::f32 && !plus_one) return static_cast<const float*>(x.data);
  const std::int64_t count = size_of(x);
  const Heads from{element_of(x.dtype), bytes_of(x.dtype), count};
  move_heads(kernels_, from, x.data, in_scratch(count), out, 1, count);
  if (plus_one) std::for_each(out, out + count, [](float& w) { w += 1.0F; });
  return out;
}

// A slot of -1 is a token that is not stored (vLLM pads its batches so).
void CacheRows::store(std::int64_t row, const float* const* cos, float* grouped) {
  const std::int64_t slot = args_.slots[static_cast<std::size_t>(row)];
  if (slot < 0) return;
  const HeadsView& k = call_.rows.tensors[1];
  if (grouped != nullptr) grouped += row * call_.k_cache.heads * call_.head_dim;
  if (k.from != nullptr) store_keys(row_of(k, call_.rows, row), slot, cos, grouped);
  if (call_.v.from != nullptr) store_values(row_of(call_.v, call_.rows, row), slot);
}

// Codes by way of scratch, some heads at a time.
void CacheRows::store_values(const void* from, std::int64_t slot) {
  const Heads read = read_heads(call_.v);
  if (call_.v_codes.facts == nullptr) {
    move_heads(kernels_, read, from, written_heads(call_.v_cache), place_of(call_.v_cache, slot), call_.v.heads,
               call_.value_dim);
    return;
  }
  const std::int64_t step = values_together(call_, kValues);
  for (std::int64_t first = 0; first < call_.v.heads; first += step) {
    const std::int64_t heads = std::min(step, call_.v.heads - first);
    move_heads(kernels_, read, moved(from, first * read.head * read.element_bytes), in_scratch(call_.value_dim),
               heads_.data(), heads, call_.value_dim);
    encode_heads(kernels_, call_.v_codes, slot, first, heads, heads_.data());
  }
}

// Some heads at a time: into scratch as f32, norm and rotation in either order, and into the cache with one rounding.
void CacheRows::store_keys(const void* from, std::int64_t slot, const float* const* cos, float* grouped) {
  const Heads read = read_heads(call_.rows.tensors[1]);
  const Heads written = written_heads(call_.k_cache);
  const std::int64_t head_dim = call_.head_dim;
  void* const to = place_of(call_.k_cache, slot);
  if (straight_) {
    if (cos != nullptr) return rotate_straight(from, to, cos);
    return move_heads(kernels_, read, from, written, to, call_.k_cache.heads, head_dim);
  }
  const Heads scratch = in_scratch(head_dim);
  const bool norm_first = args_.norm && args_.norm->scheme.order == QkNorm::Order::before;
  const bool norm_last = args_.norm && !norm_first;
  float* const x = heads_.data();
  for (std::int64_t first = 0; first < call_.k_cache.heads; first += heads_at_once_) {
    const std::int64_t heads = std::min(heads_at_once_, call_.k_cache.heads - first);
    move_heads(kernels_, read, moved(from, first * read.head * read.element_bytes), scratch, x, heads, head_dim);
    if (norm_first) normalise(first, heads);
    if (cos != nullptr) rotate(kernels::Element::f32, x, head_dim, x, head_dim, heads, cos);
    if (norm_last) normalise(first, heads);
    if (grouped != nullptr) {
      std::copy_n(x, heads * head_dim, grouped + first * head_dim);
    } else if (call_.k_codes.facts != nullptr) {
      encode_heads(kernels_, call_.k_codes, slot, first, heads, x);
    } else {
      move_heads(kernels_, scratch, x, written, moved(to, first * written.head * written.element_bytes), heads,
                 head_dim);
    }
  }
}

// Channels that do not rotate keep their bits.
void CacheRows::rotate_straight(const void* from, void* to, const float* const* cos) const {
  const RotaryLayout& layout = table_of(call_.rotating, 0).layout();
  const Heads read = read_heads(call_.rows.tensors[1]);
  const Heads written = written_heads(call_.k_cache);
  const std::int64_t heads = call_.k_cache.heads;
  rotate(read.element, from, read.head, to, written.head, heads, cos);
  const std::int64_t after = layout.first_channel + layout.dim;
  if (layout.first_channel > 0) move_heads(kernels_, read, from, written, to, heads, layout.first_channel);
  if (after < layout.head_dim) {
    const std::int64_t bytes = after * read.element_bytes;
    move_heads(kernels_, read, moved(from, bytes), written, moved(to, bytes), heads, layout.head_dim - after);
  }
}

// One row of RoPE. The scheme's channels begin at first_channel; those before and after are left alone.
void CacheRows::rotate(kernels::Element element, const void* from, std::int64_t from_head, void* to,
                       std::int64_t to_head, std::int64_t heads, const float* const* cos) const {
  const RotaryLayout& layout = table_of(call_.rotating, 0).layout();
  const std::int64_t bytes = layout.first_channel * (element == kernels::Element::f32 ? 4 : 2);
  kernels_.rotate({.element = element,
                   .rows = 1,
                   .heads = heads,
                   .pairs = layout.pairs(),
                   .partner = layout.pairing == Pairing::half ? layout.pairs() : 0,
                   .cos = cos,
                   .sin_offset = layout.pairs(),
                   .from = moved(from, bytes),
                   .from_head = from_head,
                   .to = moved(to, bytes),
                   .to_head = to_head});
}

// Of the heads in scratch: one norm for each head, or one over all heads of the token, which heads_together() then
// keeps together. A weight of all heads begins at the first head's part.
void CacheRows::normalise(std::int64_t first_head, std::int64_t heads) {
  const KeyNorm& norm = *args_.norm;
  const std::int64_t head_dim = call_.head_dim;
  const bool by_head = norm.scheme.over == QkNorm::Over::head;
  const bool each_its_own = by_head && size_of(norm.weight) > head_dim;
  const std::int64_t count = by_head ? head_dim : heads * head_dim;
  const std::int64_t skipped = each_its_own ? first_head * head_dim : 0;
  kernels_.normalise({.rows = by_head ? heads : 1,
                      .count = count,
                      .x = heads_.data(),
                      .centred = norm.scheme.kind == QkNorm::Kind::layer,
                      .divisor = norm.scheme.kind == QkNorm::Kind::l2 ? 1.0 : static_cast<double>(count),
                      .epsilon = norm.epsilon,
                      .weight = weight_ == nullptr ? nullptr : weight_ + skipped,
                      .bias = bias_ == nullptr ? nullptr : bias_ + skipped,
                      .weight_row = each_its_own ? head_dim : 0});
}

}  // namespace posenc::cpu
