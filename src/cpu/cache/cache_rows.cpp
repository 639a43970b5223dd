// One token's keys and values into its slot of the KV cache: QK norm, RoPE, conversion; straight from memory to memory
// where the dtypes agree and nothing is computed.
//
//   k_cache[slot] = R norm(k) or norm(R k),  v_cache[slot] = v      arrangement: posenc/cache.h
#include "cpu/cache/cache_rows.h"

#include <algorithm>

namespace posenc::cpu {
namespace {

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
  weight_ = as_floats(kernels, args.norm->weight, args.norm->weight_plus_one, weights_.data());
  bias_ = as_floats(kernels, args.norm->bias, false, weights_.data() + size_of(args.norm->weight));
}

bool CacheRows::allocates(const CacheArgs& args, const CacheCall& call) noexcept {
  return scratch_floats(args, call, kValues) > kValues || weights_of(args) > kValues;
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
    if (cos != nullptr)
      rotate_heads(kernels_, call_.rotating, kernels::Element::f32, x, head_dim, x, head_dim, heads, cos);
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
  rotate_heads(kernels_, call_.rotating, read.element, from, read.head, to, written.head, heads, cos);
  const std::int64_t after = layout.first_channel + layout.dim;
  if (layout.first_channel > 0) move_heads(kernels_, read, from, written, to, heads, layout.first_channel);
  if (after < layout.head_dim) {
    const std::int64_t bytes = after * read.element_bytes;
    move_heads(kernels_, read, moved(from, bytes), written, moved(to, bytes), heads, layout.head_dim - after);
  }
}

void CacheRows::normalise(std::int64_t first_head, std::int64_t heads) {
  kernels_.normalise(norm_rows(*args_.norm, first_head, heads, call_.head_dim, heads_.data(), weight_, bias_));
}

}  // namespace posenc::cpu
