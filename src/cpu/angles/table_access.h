// The private side of RotaryTable: how the library makes one, and the rule by which a table on demand makes its rows.
// Only src/cpu reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "cpu/angles/angle_rows.h"
#include "posenc/rotary_table.h"

namespace posenc::cpu {

struct TableAccess {
  // [count, 2, pairs], aligned to a cache line.
  using Rows = RotaryTable::Rows;
  static RotaryTable make(const RotaryLayout& layout, double factor, std::int64_t start, Rows rows) {
    return {layout, factor, start, std::move(rows)};
  }
  static RotaryTable make(const RotaryLayout& layout, double factor, AngleRule rule) {
    RotaryTable out(layout, factor, 0, {});
    out.rule_ = std::make_unique<const AngleRule>(std::move(rule));
    return out;
  }
  // Null for a table that holds rows.
  static const AngleRule* rule(const RotaryTable& table) noexcept { return table.rule_.get(); }
};

}  // namespace posenc::cpu
