#include "posenc/rotate.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "c/handles.h"
#include "c/status.h"

namespace posenc::c {
namespace {

TensorView view(const char* where, const char* name, const posenc_tensor& given) {
  if (given.dtype < POSENC_F32 || given.dtype > POSENC_F64) {
    throw Error(where,
                {std::string(name) + ".dtype", "be POSENC_F32, _F16, _BF16 or _F64", std::to_string(given.dtype)});
  }
  if (given.rank < 0 || given.rank > kMaxRank) {
    throw Error(where, {std::string(name) + ".rank", "lie from 0 to 4", std::to_string(given.rank)});
  }
  TensorView out{given.data, static_cast<DType>(given.dtype), given.rank, {}, {}};
  std::copy_n(given.shape, given.rank, out.shape.begin());
  std::copy_n(given.strides, given.rank, out.strides.begin());
  return out;
}

// An array of C, NULL with count 0 when it is left out.
template <typename T>
std::span<T> list(const char* where, const char* name, T* data, std::int64_t count) {
  if (count < 0 || (count > 0 && data == nullptr)) {
    throw Error(where, {std::string(name), "point to as many entries as its count says, at least 0,",
                        count < 0 ? std::to_string(count) : "NULL"});
  }
  return {data, static_cast<std::size_t>(count)};
}

Positions positions_of(const char* where, const char* name, const posenc_positions& given) {
  switch (given.type) {
    case POSENC_COUNTED: return PositionRange{given.start};
    case POSENC_INT64: return list(where, name, static_cast<const std::int64_t*>(given.data), given.count);
    case POSENC_INT32: return list(where, name, static_cast<const std::int32_t*>(given.data), given.count);
    case POSENC_DOUBLE: return list(where, name, static_cast<const double*>(given.data), given.count);
    default: break;
  }
  throw Error(
      where, {std::string(name) + ".type", "be POSENC_COUNTED, _INT64, _INT32 or _DOUBLE", std::to_string(given.type)});
}

Direction direction_of(const char* where, posenc_direction direction) {
  switch (direction) {
    case POSENC_FORWARD: return Direction::forward;
    case POSENC_INVERSE: return Direction::inverse;
    case POSENC_TRANSPOSE: return Direction::transpose;
    default: break;
  }
  throw Error(where, {"direction", "be POSENC_FORWARD, _INVERSE or _TRANSPOSE", std::to_string(direction)});
}

const RotaryTable* table_of(const posenc_table* table) { return table == nullptr ? nullptr : &table->table; }

template <typename Args>
Pages pages_of(const char* where, const Args& args) {
  return {list(where, "block_table", args.block_table, args.block_table_count),
          list(where, "block_first", args.block_first, args.block_first_count)};
}

template <typename Args>
Parallel parallel_of(const Args& args) {
  return {args.threads, {args.executor.context, args.executor.run, args.executor.threads}};
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_rotate(const posenc_rotate_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_rotate";
    const posenc_rotate_args& given = c::sized(kWhere, "args", args);
    std::vector<const posenc::RotaryTable*> tables;  // stays empty, and takes no memory, where there is one table
    for (const posenc_table* table : c::list(kWhere, "tables", given.tables, given.tables_count)) {
      tables.push_back(c::table_of(table));
    }
    posenc::rotate({.q = c::view(kWhere, "q", given.q),
                    .k = c::view(kWhere, "k", given.k),
                    .q_from = c::view(kWhere, "q_from", given.q_from),
                    .k_from = c::view(kWhere, "k_from", given.k_from),
                    .positions = c::positions_of(kWhere, "positions", given.positions),
                    .table = c::table_of(given.table),
                    .direction = c::direction_of(kWhere, given.direction),
                    .cu_seqlens = c::list(kWhere, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
                    .k_pages = c::pages_of(kWhere, given),
                    .tables = tables,
                    .parallel = c::parallel_of(given)});
  });
}

posenc_status posenc_rerotate(const posenc_rerotate_args* args) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_rerotate";
    const posenc_rerotate_args& given = c::sized(kWhere, "args", args);
    posenc::rerotate(
        {.k = c::view(kWhere, "k", given.k),
         .k_from = c::view(kWhere, "k_from", given.k_from),
         .from_table = c::table_of(given.from_table),
         .from_positions = c::positions_of(kWhere, "from_positions", given.from_positions),
         .to_table = c::table_of(given.to_table),
         .to_positions = c::positions_of(kWhere, "to_positions", given.to_positions),
         .cu_seqlens = c::list(kWhere, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
         .k_pages = c::pages_of(kWhere, given),
         .layer = given.plan == nullptr ? nullptr : &c::layer_of(kWhere, *given.plan, given.stack, given.layer),
         .parallel = c::parallel_of(given)});
  });
}

posenc_status posenc_cos_sin(const posenc_table* table, const posenc_positions* positions, int64_t rows, float* cos,
                             float* sin) {
  return c::guarded([&] {
    constexpr const char* kWhere = "posenc_cos_sin";
    const posenc::RotaryTable& of = c::required(kWhere, "table", table).table;
    const posenc_positions& given = c::required(kWhere, "positions", positions);
    if (rows < 0 || rows > INT64_MAX / of.pairs()) {
      throw posenc::Error(kWhere, {"rows", "be at least 0, and no more than memory holds,", std::to_string(rows)});
    }
    const std::int64_t values = rows * of.pairs();
    cos_sin_into(of, c::positions_of(kWhere, "positions", given), c::list(kWhere, "cos", cos, values),
                 c::list(kWhere, "sin", sin, values));
  });
}
