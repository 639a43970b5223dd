// posenc_rotate and posenc_rerotate of posenc/c.h: RoPE on q and k, and a shift of cached keys, rotate.h, for C.
#include "posenc/rotate.h"

#include <string>

#include "c/arguments.h"
#include "c/status.h"

namespace posenc::c {
namespace {

Direction direction_of(const char* where, posenc_direction direction) {
  switch (direction) {
    case POSENC_FORWARD: return Direction::forward;
    case POSENC_INVERSE: return Direction::inverse;
    case POSENC_TRANSPOSE: return Direction::transpose;
    default: break;
  }
  throw Error(where, {"direction", "be POSENC_FORWARD, _INVERSE or _TRANSPOSE", std::to_string(direction)});
}

// block_table and block_first of either struct; both omitted: k is contiguous.
template <typename Args>
Pages pages_of(const char* where, const Args& args) {
  return {list(where, "block_table", args.block_table, args.block_table_count),
          list(where, "block_first", args.block_first, args.block_first_count)};
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_rotate(const posenc_rotate_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_rotate";
    const posenc_rotate_args& given = c::sized(kWhere, "args", args);
    c::require_reserved(kWhere, "args->reserved", given.reserved);
    const auto tables = c::tables_of(kWhere, given.tables, given.tables_count);
    // It answers false only where keep_going does, which posenc_rotate_args does not have.
    (void)posenc::rotate({.q = c::view(kWhere, "q", given.q),
                          .k = c::view(kWhere, "k", given.k),
                          .q_from = c::view(kWhere, "q_from", given.q_from),
                          .k_from = c::view(kWhere, "k_from", given.k_from),
                          .positions = c::positions_of(kWhere, "positions", given.positions),
                          .table = c::table_of(given.table),
                          .direction = c::direction_of(kWhere, given.direction),
                          .cu_seqlens = c::list(kWhere, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
                          .k_pages = c::pages_of(kWhere, given),
                          .tables = tables,
                          .parallel = c::parallel_of(given.threads, given.executor)});
  });
}

posenc_status posenc_rerotate(const posenc_rerotate_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_rerotate";
    const posenc_rerotate_args& given = c::sized(kWhere, "args", args);
    (void)posenc::rerotate(
        {.k = c::view(kWhere, "k", given.k),
         .k_from = c::view(kWhere, "k_from", given.k_from),
         .k_quantised = c::quantised_if(kWhere, "k_quantised", given.k_quantised),
         .from_table = c::table_of(given.from_table),
         .from_positions = c::positions_of(kWhere, "from_positions", given.from_positions),
         .to_table = c::table_of(given.to_table),
         .to_positions = c::positions_of(kWhere, "to_positions", given.to_positions),
         .cu_seqlens = c::list(kWhere, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
         .k_pages = c::pages_of(kWhere, given),
         .layer = given.plan == nullptr ? nullptr : &c::layer_of(kWhere, *given.plan, given.stack, given.layer),
         .parallel = c::parallel_of(given.threads, given.executor)});
  });
}

// rows: said by the caller, since positions that are counted do not say it. cos, sin: [rows, pairs] each.
posenc_status posenc_cos_sin(const posenc_table* table, const posenc_positions* positions, int64_t rows, float* cos,
                             float* sin) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_cos_sin";
    const posenc::RotaryTable& of = c::required(kWhere, "table", table).table;
    const posenc_positions& given = c::required(kWhere, "positions", positions);
    // Before the product below, which could overflow.
    if (rows < 0 || rows > INT64_MAX / of.pairs()) {
      throw posenc::Error(kWhere, {"rows", "be at least 0, and no more than memory holds,", std::to_string(rows)});
    }
    const std::int64_t values = rows * of.pairs();
    cos_sin_into(of, c::positions_of(kWhere, "positions", given), c::list(kWhere, "cos", cos, values),
                 c::list(kWhere, "sin", sin, values));
  });
}
