// Recognises the calls of rotate_into_cache that an engine makes at decode by comparing shapes and strides, and builds
// the CacheCall without the general checks. What is not plain goes to check_cache.h.
#include "cpu/cache/plain_cache_call.h"

#include <array>

#include "cpu/rotate/plain_tensor.h"

namespace posenc::cpu {
namespace {

// The first block of a paged cache, [block_size, heads, channels]; a contiguous one as it is.
ConstTensorView one_block(const ConstTensorView& x) {
  if (x.rank != 4) return x;
  return {.data = x.data,
          .dtype = x.dtype,
          .rank = 3,
          .shape = {x.shape[1], x.shape[2], x.shape[3]},
          .strides = {x.strides[1], x.strides[2], x.strides[3]}};
}

// The block is a plain tensor, and blocks follow each other without overlapping.
bool is_plain_cache(const ConstTensorView& x, std::int64_t heads, std::int64_t channels) {
  if (x.rank != 3 && x.rank != 4) return false;
  const ConstTensorView block = one_block(x);
  if (!is_below_large(1, block.shape[0]) || block.shape[1] != heads) return false;
  if (!is_plain_tensor(block, block.shape[0], channels)) return false;
  if (x.rank == 3) return true;
  const std::int64_t rows = block.shape[0] == 1 ? heads * block.strides[1] : block.strides[0];  // elements of a row
  return is_below_large(1, x.shape[0]) && rows < kLarge &&
         (x.shape[0] == 1 || is_below_large(block.shape[0] * rows, x.strides[0]));
}

// Of all blocks, from the first element to the end of the last.
Addresses addresses_of_cache(const ConstTensorView& x) {
  Addresses out = addresses_of(one_block(x));
  if (x.rank == 4 && x.shape[0] > 1) {
    out.end += static_cast<std::uintptr_t>((x.shape[0] - 1) * x.strides[0] * bytes_of(x.dtype));
  }
  return out;
}

HeadsView plain_cache_heads(const TensorView& x) {
  HeadsView out = plain_heads(one_block(x));
  if (x.rank == 4) {
    out.block_size = x.shape[1];
    out.from_strides.batch = out.to_strides.batch = x.shape[0] > 1 ? x.strides[0] : 0;
  }
  return out;
}

std::int64_t rows_of_cache(const TensorView& x) { return x.rank == 4 ? x.shape[0] * x.shape[1] : x.shape[0]; }

// Of weights, whose elements are adjacent if check_norm finds nothing; none where there are none, or absurdly many.
bool are_plain_weights(const ConstTensorView& x, Addresses& out) {
  if (x.empty()) return true;
  const std::int64_t second = x.rank == 2 ? x.shape[1] : 1;
  if (x.rank > 2 || !is_below_large(0, x.shape[0]) || !is_below_large(0, second)) return false;
  out.begin = reinterpret_cast<std::uintptr_t>(x.data);
  out.end = out.begin + static_cast<std::uintptr_t>(x.shape[0] * second * bytes_of(x.dtype));
  return true;
}

// Each in the cache or -1, and each that is stored after the one before.
bool are_plain_slots(std::span<const std::int64_t> slots, std::int64_t rows) {
  std::int64_t next = 0;
  for (const std::int64_t slot : slots) {
    if (slot == -1) continue;
    if (slot < next || slot >= rows) return false;
    next = slot + 1;
  }
  return true;
}

}  // namespace

bool is_plain(const CacheArgs& args) noexcept {
  const std::int64_t rows = args.k.shape[0];
  const std::int64_t head_dim = args.k.shape[2];
  if (!args.tables.empty() || !args.cu_seqlens.empty() || !is_plain_table(args.table)) return false;
  if (!args.k_quantised.empty() || !args.v_quantised.empty()) return false;
  if (args.table->layout().head_dim != head_dim || !is_below_large(1, head_dim) || !is_below_large(1, rows))
    return false;
  if (!is_plain_tensor(args.k, rows, head_dim) || !is_plain_cache(args.k_cache, args.k.shape[1], head_dim))
    return false;
  std::array<Addresses, 4> reads{addresses_of(args.k)};
  const Addresses k_cache = addresses_of_cache(args.k_cache);
  Addresses v_cache;
  if (args.v.empty() != args.v_cache.empty()) return false;
  if (!args.v.empty()) {
    const std::int64_t value_dim = args.v.shape[2];
    if (!is_below_large(1, value_dim) || !is_plain_tensor(args.v, rows, value_dim)) return false;
    if (!is_plain_cache(args.v_cache, args.v.shape[1], value_dim)) return false;
    if (args.v_cache.rank != args.k_cache.rank || args.v_cache.shape[0] != args.k_cache.shape[0]) return false;
    if (args.k_cache.rank == 4 && args.v_cache.shape[1] != args.k_cache.shape[1]) return false;
    reads[1] = addresses_of(args.v);
    v_cache = addresses_of_cache(args.v_cache);
  }
  if (args.norm) {
    if (!are_plain_weights(args.norm->weight, reads[2]) || !are_plain_weights(args.norm->bias, reads[3])) return false;
  }
  bool apart = are_apart(k_cache, v_cache);
  for (const Addresses& read : reads) apart = apart && are_apart(k_cache, read) && are_apart(v_cache, read);
  return apart && std::ssize(args.slots) == rows && are_plain_slots(args.slots, rows_of_cache(args.k_cache)) &&
         serves(*args.table, args.positions, rows);
}

// Fills what check_cache would for the same call; everything else keeps its default.
void plain_cache_call(const CacheArgs& args, CacheCall& call) noexcept {
  const std::int64_t rows = args.k.shape[0];
  call.rotates = true;
  call.rotating.k = {const_cast<void*>(args.k.data), args.k.dtype, args.k.rank, args.k.shape, args.k.strides};
  call.rotating.positions = args.positions;
  call.rotating.table = args.table;
  call.rotating.parallel = args.parallel;
  call.rotating.isa = args.isa;
  call.head_dim = args.k.shape[2];
  call.rows.tensors[1] = plain_heads(args.k);
  call.rows.batch = 1;
  call.rows.rows = rows;
  call.rows.sequences = 1;
  call.rows.axis_stride = std::holds_alternative<PositionRange>(args.positions) ? 0 : rows;
  call.k_cache = plain_cache_heads(args.k_cache);
  call.bytes = rows * call.k_cache.heads * call.head_dim * call.k_cache.element_bytes;
  if (args.v.empty()) return;
  call.value_dim = args.v.shape[2];
  call.v = plain_heads(args.v);
  call.v_cache = plain_cache_heads(args.v_cache);
  call.bytes += rows * call.v_cache.heads * call.value_dim * call.v_cache.element_bytes;
}

}  // namespace posenc::cpu
