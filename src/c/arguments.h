// From the structs of c.h to the library's arguments. Each throws Error for what C can say and C++ cannot: a number
// that stands for nothing, NULL with a count.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "c/handles.h"
#include "posenc/attend.h"
#include "posenc/error.h"
#include "posenc/parallel.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::c {

TensorView view(const char* where, const char* name, const posenc_tensor& given);
Positions positions_of(const char* where, const char* name, const posenc_positions& given);
std::optional<Positions> positions_if(const char* where, const char* name, const posenc_positions* given);
const RotaryTable* table_of(const posenc_table* table) noexcept;

// An array of C, NULL with count 0 when it is omitted.
template <typename T>
std::span<T> list(const char* where, const char* name, T* data, std::int64_t count) {
  if (count < 0 || (count > 0 && data == nullptr)) {
    throw Error(where, {std::string(name), "point to as many entries as its count says, at least 0,",
                        count < 0 ? std::to_string(count) : "NULL"});
  }
  return {data, static_cast<std::size_t>(count)};
}

// Empty, without memory, where there is one table.
std::vector<const RotaryTable*> tables_of(const char* where, const posenc_table* const* tables, std::int64_t count);

Angles angles_of(const char* where, const char* name, posenc_angles angles);
Products products_of(const char* where, const char* name, posenc_products products);
std::function<bool()> keep_going_of(std::int32_t (*keep_going)(void*), void* context);
Parallel parallel_of(std::int64_t threads, const posenc_executor& executor) noexcept;

}  // namespace posenc::c
