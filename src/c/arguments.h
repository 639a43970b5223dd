// From the structs of c.h to the library's arguments. Each throws Error for what C can say and C++ cannot: a number
// that stands for nothing, NULL with a count.
// `where` is the C function's name and `name` the member's, as they stand in posenc_last_error(). Results are views of
// the caller's memory: nothing is copied, and nothing outlives the call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "c/handles.h"
#include "posenc/attend.h"
#include "posenc/cache/quantised.h"
#include "posenc/error.h"
#include "posenc/parallel.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::c {

// Throws for a dtype or rank that is none; shapes and strides are checked by the library, against the call.
TensorView view(const char* where, const char* name, const posenc_tensor& given);
// NULL: no tensor.
QuantisedView quantised_if(const char* where, const char* name, const posenc_quantised* given);
CacheFormat cache_format_of(const char* where, const char* name, posenc_cache_format format);
// A range that counts from `start`, or `count` numbers of the type that the struct names.
Positions positions_of(const char* where, const char* name, const posenc_positions& given);
// Nothing for NULL: the order of the rows, to attention.
std::optional<Positions> positions_if(const char* where, const char* name, const posenc_positions* given);
// NULL for NULL: whether the call needs a table, the library knows.
const RotaryTable* table_of(const posenc_table* table) noexcept;

// An array of C, NULL with count 0 when it is omitted.
template <typename T>
std::span<T> list(const char* where, const char* name, T* data, std::int64_t count) {
  constexpr std::int64_t kMost = INT64_MAX / static_cast<std::int64_t>(sizeof(T));
  if (count > kMost) {
    throw Error(where, {std::string(name), "have no more entries than memory holds,", std::to_string(count)});
  }
  if (count < 0 || (count > 0 && data == nullptr)) {
    throw Error(where, {std::string(name), "point to as many entries as its count says, at least 0,",
                        count < 0 ? std::to_string(count) : "NULL"});
  }
  return {data, static_cast<std::size_t>(count)};
}

// Empty, without memory, where there is one table.
std::vector<const RotaryTable*> tables_of(const char* where, const posenc_table* const* tables, std::int64_t count);

// An enumerator of C++ for the number, which is checked: casting any other would be undefined behaviour.
Angles angles_of(const char* where, const char* name, posenc_angles angles);
Products products_of(const char* where, const char* name, posenc_products products);
// Empty for NULL, so that calls without a callback do not pay for one. `context` is handed to it as it is.
std::function<bool()> keep_going_of(std::int32_t (*keep_going)(void*), void* context);
// posenc_executor has the members of Executor; without a run, the process's own pool.
Parallel parallel_of(std::int64_t threads, const posenc_executor& executor) noexcept;

}  // namespace posenc::c
