// From C to C++: tensors, positions, tables, enumerations, callbacks and executors of posenc/c.h as the library's own
// types. A number that is no enumerator, a rank out of range or NULL with a count throws Error, which becomes
// POSENC_WRONG_ARGUMENT (c/status.h).
#include "c/arguments.h"

#include <algorithm>

#include "c/status.h"

namespace posenc::c {

// dtype and rank come from C as plain numbers, so both are checked before they become an enumerator (which has C's
// numbers) and an array's bound. A zeroed posenc_tensor passes: f32 of rank 0, which is "no tensor".
TensorView view(const char* where, const char* name, const posenc_tensor& given) {
  if (given.dtype < POSENC_F32 || given.dtype > POSENC_F64) {
    throw Error(where,
                {std::string(name) + ".dtype", "be POSENC_F32, _F16, _BF16 or _F64", std::to_string(given.dtype)});
  }
  if (given.rank < 0 || given.rank > kMaxRank) {
    throw Error(where, {std::string(name) + ".rank", "lie from 0 to 4", std::to_string(given.rank)});
  }
  // Writable for inputs, too: C has one struct for both. The library's arguments take inputs as ConstTensorView.
  TensorView out{given.data, static_cast<DType>(given.dtype), given.rank, {}, {}};
  std::copy_n(given.shape, given.rank, out.shape.begin());
  std::copy_n(given.strides, given.rank, out.strides.begin());
  return out;
}

CacheFormat cache_format_of(const char* where, const char* name, posenc_cache_format format) {
  if (format >= POSENC_INT8 && format <= POSENC_INT4_BY_CHANNEL) return static_cast<CacheFormat>(format);
  throw Error(where, {name, "be one of POSENC_INT8 to POSENC_INT4_BY_CHANNEL", std::to_string(format)});
}

QuantisedView quantised_if(const char* where, const char* name, const posenc_quantised* given) {
  if (given == nullptr) return {};
  const std::string own(name);
  // A view of rank 0 is none to the library, and a pointer says that there is one.
  if (given->rank != 3 && given->rank != 4) {
    throw Error(where, {own + ".rank", "be 3 or 4", std::to_string(given->rank)});
  }
  QuantisedView out{.format = cache_format_of(where, (own + ".format").c_str(), given->format),
                    .data = given->data,
                    .rank = given->rank,
                    .scales = view(where, (own + ".scales").c_str(), given->scales),
                    .zeros = view(where, (own + ".zeros").c_str(), given->zeros),
                    .scale = given->scale == 0.0 ? 1.0F : static_cast<float>(given->scale),
                    .group = given->group};
  std::copy_n(given->shape, given->rank, out.shape.begin());
  std::copy_n(given->strides, given->rank, out.strides.begin());
  return out;
}

// `count` is axes * rows, and not read where positions are counted.
Positions positions_of(const char* where, const char* name, const posenc_positions& given) {
  require_reserved(where, std::string(name) + ".reserved", given.reserved);
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

std::optional<Positions> positions_if(const char* where, const char* name, const posenc_positions* given) {
  if (given == nullptr) return {};
  return positions_of(where, name, *given);
}

const RotaryTable* table_of(const posenc_table* table) noexcept { return table == nullptr ? nullptr : &table->table; }

std::vector<const RotaryTable*> tables_of(const char* where, const posenc_table* const* tables, std::int64_t count) {
  // A NULL among them stays NULL, which the library refuses by name.
  std::vector<const RotaryTable*> out;
  for (const posenc_table* table : list(where, "tables", tables, count)) out.push_back(table_of(table));
  return out;
}

Angles angles_of(const char* where, const char* name, posenc_angles angles) {
  if (angles < POSENC_ANGLES_EXACT || angles > POSENC_ANGLES_BFLOAT16) {
    throw Error(where, {name, "be one of POSENC_ANGLES_...", std::to_string(angles)});
  }
  return static_cast<Angles>(angles);
}

Products products_of(const char* where, const char* name, posenc_products products) {
  if (products < POSENC_PRODUCTS_F32 || products > POSENC_PRODUCTS_BF16) {
    throw Error(where, {name, "be one of POSENC_PRODUCTS_...", std::to_string(products)});
  }
  return static_cast<Products>(products);
}

std::function<bool()> keep_going_of(std::int32_t (*keep_going)(void*), void* context) {
  if (keep_going == nullptr) return {};
  // Any number but 0 goes on.
  return [keep_going, context] { return keep_going(context) != 0; };
}

Parallel parallel_of(std::int64_t threads, const posenc_executor& executor) noexcept {
  return {threads, {executor.context, executor.run, executor.threads}};
}

}  // namespace posenc::c
