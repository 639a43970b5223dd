// posenc_rotate_into_cache of posenc/c.h: QK norm, RoPE and the store into a contiguous or paged KV cache, cache.h, for
// C; and its backward pass, cache/backward.h.
#include "posenc/cache.h"

#include <optional>
#include <string>

#include "c/arguments.h"
#include "c/status.h"
#include "posenc/cache/backward.h"

namespace posenc::c {
namespace {

// A plan's QkNorm has the same facts, but a caller in C may have a norm without a plan: so they are members of the
// args.
template <typename Args>
std::optional<KeyNorm> norm_of(const char* where, const Args& given) {
  if (given.norm == POSENC_NO_NORM) return {};
  if (given.norm < POSENC_NO_NORM || given.norm > POSENC_LAYER_NORM) {
    throw Error(where, {"norm", "be POSENC_NO_NORM, _RMS_NORM, _L2_NORM or _LAYER_NORM", std::to_string(given.norm)});
  }
  // There is no flag for it: a norm has a weight if and only if one is given.
  const bool weighted = given.norm_weight.rank != 0;
  return KeyNorm{
      .scheme = {.kind = given.norm == POSENC_RMS_NORM  ? QkNorm::Kind::rms
                         : given.norm == POSENC_L2_NORM ? QkNorm::Kind::l2
                                                        : QkNorm::Kind::layer,
                 .order = given.norm_after != 0 ? QkNorm::Order::after : QkNorm::Order::before,
                 .weighted = weighted,
                 .over = given.norm_over_all_heads != 0 ? QkNorm::Over::all_heads : QkNorm::Over::head},
      .epsilon = given.epsilon,
      .weight = view(where, "norm_weight", given.norm_weight),
      .bias = view(where, "norm_bias", given.norm_bias),
      .weight_plus_one = given.weight_plus_one != 0,
  };
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_rotate_into_cache(const posenc_cache_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_rotate_into_cache";
    const posenc_cache_args& given = c::sized(kWhere, "args", args);
    const auto tables = c::tables_of(kWhere, given.tables, given.tables_count);
    (void)posenc::rotate_into_cache(
        {.k = c::view(kWhere, "k", given.k),
         .v = c::view(kWhere, "v", given.v),
         .positions = c::positions_of(kWhere, "positions", given.positions),
         .table = c::table_of(given.table),
         .norm = c::norm_of(kWhere, given),
         .k_cache = c::view(kWhere, "k_cache", given.k_cache),
         .v_cache = c::view(kWhere, "v_cache", given.v_cache),
         .k_quantised = c::quantised_if(kWhere, "k_quantised", given.k_quantised),
         .v_quantised = c::quantised_if(kWhere, "v_quantised", given.v_quantised),
         .slots = c::list(kWhere, "slots", given.slots, given.slots_count),
         .cu_seqlens = c::list(kWhere, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
         .tables = tables,
         .parallel = c::parallel_of(given.threads, given.executor)});
  });
}

posenc_status posenc_rotate_into_cache_backward(const posenc_cache_backward_args* args) {
  return c::guarded([&]() -> posenc_status {
    constexpr const char* kWhere = "posenc_rotate_into_cache_backward";
    const posenc_cache_backward_args& given = c::sized(kWhere, "args", args);
    const auto tables = c::tables_of(kWhere, given.tables, given.tables_count);
    const bool done = posenc::rotate_into_cache_backward(
        {.d_k_cache = c::view(kWhere, "d_k_cache", given.d_k_cache),
         .d_v_cache = c::view(kWhere, "d_v_cache", given.d_v_cache),
         .k = c::view(kWhere, "k", given.k),
         .positions = c::positions_of(kWhere, "positions", given.positions),
         .table = c::table_of(given.table),
         .norm = c::norm_of(kWhere, given),
         .slots = c::list(kWhere, "slots", given.slots, given.slots_count),
         .cu_seqlens = c::list(kWhere, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
         .tables = tables,
         .d_k = c::view(kWhere, "d_k", given.d_k),
         .d_v = c::view(kWhere, "d_v", given.d_v),
         .d_norm_weight = c::view(kWhere, "d_norm_weight", given.d_norm_weight),
         .d_norm_bias = c::view(kWhere, "d_norm_bias", given.d_norm_bias),
         .parallel = c::parallel_of(given.threads, given.executor),
         .keep_going = c::keep_going_of(given.keep_going, given.keep_going_context)});
    if (done) return POSENC_OK;
    return c::keep(POSENC_CANCELLED, "[posenc_rotate_into_cache_backward] keep_going returned false");
  });
}

posenc_status posenc_cache_row_bytes(posenc_cache_format format, int64_t channels, int64_t* bytes) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_cache_row_bytes";
    std::int64_t& to = c::required(kWhere, "bytes", bytes);
    to = posenc::cache_row_bytes(c::cache_format_of(kWhere, "format", format), channels);
  });
}

posenc_status posenc_dequantise(const posenc_tensor* out, const posenc_quantised* x, int32_t paged) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_dequantise";
    const posenc::TensorView to = c::view(kWhere, "out", c::required(kWhere, "out", out));
    posenc::dequantise(to, c::quantised_if(kWhere, "x", &c::required(kWhere, "x", x)), paged != 0);
  });
}
