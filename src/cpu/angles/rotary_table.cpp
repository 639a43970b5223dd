// RotaryTable, the cos/sin cache: filled by the angle kernel, taken from the caller's values or angles, or without
// rows, in which case rotate() makes those it needs.
//
//   cos[t][p] = a cos(position_t inv_freq[p])      rows [count, 2, pairs]: cos of all pairs, then sin
#include "posenc/rotary_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/formatted.h"
#include "cpu/angles/angle_rows.h"
#include "cpu/angles/check_table.h"
#include "cpu/angles/table_access.h"
#include "cpu/machine/dispatch.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {

namespace {

constexpr const char* kMakeTable = "make_table";

// Every argument but `angles` and `frequencies` has been checked by the caller of both.
// With one axis for all pairs, whatever the layout's axes are: a row is of one position. rotate gathers a token's row
// from those of its coordinates (rotate_block.cpp).
RotaryTable fill(const RotaryLayout& layout, const Frequencies& frequencies, const TableOptions& options) {
  const std::int64_t pairs = layout.pairs();
  const kernels::KernelTable& kernels = cpu::kernels_for(kMakeTable, options.isa);
  const cpu::AngleRule rule(frequencies.inv_freq, {}, frequencies.attention_factor, options.angles);
  cpu::TableAccess::Rows rows(static_cast<std::size_t>(options.count * 2 * pairs));
  std::array<double, cpu::kBlockRows> positions{};
  for (std::int64_t first = 0; first < options.count; first += cpu::kBlockRows) {
    const std::int64_t count = std::min(cpu::kBlockRows, options.count - first);
    for (std::int64_t t = 0; t < count; ++t) {
      positions[static_cast<std::size_t>(t)] = static_cast<double>(options.start + first + t);
    }
    float* const out = rows.data() + first * 2 * pairs;
    rule.write(kernels, positions.data(), 0, count, out, out + pairs, 2 * pairs);
  }
  return cpu::TableAccess::make(layout, frequencies.attention_factor, options.start, std::move(rows));
}

// Angles grow with the position's magnitude, so that its ends are enough to look at.
void check(const RotaryLayout& layout, const Frequencies& frequencies, const TableOptions& options) {
  cpu::check_frequencies(kMakeTable, frequencies, layout.pairs());
  cpu::check_range(kMakeTable, options.start, options.count);
  cpu::check_bytes(kMakeTable, "count", options.count, layout.pairs(), options.max_bytes);
  if (options.count == 0) return;
  const auto first = static_cast<double>(options.start);
  const auto last = static_cast<double>(options.start + options.count - 1);
  cpu::check_angles(kMakeTable, std::max(std::abs(first), std::abs(last)), frequencies);
}

// Rows that `values` holds, and that start and count are in range.
std::int64_t given_rows(std::string_view where, const char* name, std::size_t values, const RotaryLayout& layout,
                        std::int64_t start) {
  const auto pairs = static_cast<std::size_t>(layout.pairs());
  if (values % pairs != 0) {
    throw Error(where,
                {formatted("{}.size()", name), formatted("be a multiple of {} pairs", pairs), formatted("{}", values)});
  }
  const auto rows = static_cast<std::int64_t>(values / pairs);
  cpu::check_range(where, start, rows);
  return rows;
}

}  // namespace

RotaryTable::RotaryTable(RotaryLayout layout, double attention_factor, std::int64_t start, Rows rows)
    : layout_(std::move(layout)),
      attention_factor_(attention_factor),
      start_(start),
      count_(std::ssize(rows) / (2 * layout_.pairs())),
      rows_(std::move(rows)) {}

RotaryTable::RotaryTable(const RotaryTable& other)
    : layout_(other.layout_),
      attention_factor_(other.attention_factor_),
      start_(other.start_),
      count_(other.count_),
      rows_(other.rows_),
      rule_(other.rule_ ? std::make_unique<const cpu::AngleRule>(*other.rule_) : nullptr) {}

RotaryTable& RotaryTable::operator=(const RotaryTable& other) {
  *this = RotaryTable(other);
  return *this;
}

RotaryTable::RotaryTable(RotaryTable&&) noexcept = default;
RotaryTable& RotaryTable::operator=(RotaryTable&&) noexcept = default;
RotaryTable::~RotaryTable() = default;

std::span<const float> RotaryTable::cos(std::int64_t position) const {
  if (position < start_ || position - start_ >= count_) {
    throw Error("RotaryTable", {"position", formatted("be at least {} and below {}", start_, start_ + count_),
                                formatted("{}", position)});
  }
  const auto pairs = static_cast<std::size_t>(layout_.pairs());
  return std::span(rows_).subspan(static_cast<std::size_t>(position - start_) * 2 * pairs, pairs);
}

std::span<const float> RotaryTable::sin(std::int64_t position) const {
  const std::span<const float> cosines = cos(position);
  return {cosines.data() + cosines.size(), cosines.size()};
}

RotaryTable make_table(const RotaryLayout& layout, const Frequencies& frequencies, const TableOptions& options) {
  cpu::check_layout(kMakeTable, layout);
  check(layout, frequencies, options);
  return fill(layout, frequencies, options);
}

// float32 and bfloat16 angles start from frequencies in Hugging Face's own float32 steps; so does a table on demand.
RotaryTable make_table(const Rope& rope, const TableOptions& options) {
  const auto arithmetic = options.angles == Angles::exact ? Arithmetic::exact : Arithmetic::float32;
  return make_table(layout(rope), frequencies(rope, options.length, arithmetic), options);
}

// Positions are not known yet; rotate checks each against the rule's largest_position().
RotaryTable table_on_demand(const Rope& rope, const TableOptions& options) {
  constexpr const char* kWhere = "table_on_demand";
  const auto arithmetic = options.angles == Angles::exact ? Arithmetic::exact : Arithmetic::float32;
  const Frequencies found = frequencies(rope, options.length, arithmetic);
  cpu::check_frequencies(kWhere, found, rope.pairs());
  return cpu::TableAccess::make(layout(rope), found.attention_factor,
                                {found.inv_freq, rope.axes.of_pair, found.attention_factor, options.angles});
}

// The values are not looked at: NaN and numbers beyond [-1, 1] are the caller's.
RotaryTable table_from_cos_sin(const RotaryLayout& layout, std::span<const float> cos, std::span<const float> sin,
                               std::int64_t start, double attention_factor) {
  constexpr const char* kWhere = "table_from_cos_sin";
  cpu::check_layout(kWhere, layout);
  cpu::check_factor(kWhere, attention_factor);
  const std::int64_t count = given_rows(kWhere, "cos", cos.size(), layout, start);
  if (sin.size() != cos.size()) {
    throw Error(kWhere, {"sin.size()", formatted("be cos.size(), {},", cos.size()), formatted("{}", sin.size())});
  }
  cpu::TableAccess::Rows rows;
  rows.reserve(2 * cos.size());
  const auto pairs = static_cast<std::size_t>(layout.pairs());
  for (std::size_t t = 0; t < static_cast<std::size_t>(count); ++t) {
    for (const auto& values : {cos, sin}) {
      const auto row = values.subspan(t * pairs, pairs);
      rows.insert(rows.end(), row.begin(), row.end());
    }
  }
  return cpu::TableAccess::make(layout, attention_factor, start, std::move(rows));
}

RotaryTable table_from_angles(const RotaryLayout& layout, std::span<const double> radians, std::int64_t start,
                              double attention_factor, Isa isa) {
  constexpr const char* kWhere = "table_from_angles";
  cpu::check_layout(kWhere, layout);
  cpu::check_factor(kWhere, attention_factor);
  const std::int64_t count = given_rows(kWhere, "radians", radians.size(), layout, start);
  const auto wrong = std::ranges::find_if_not(radians, [](double x) { return std::abs(x) <= cpu::kLargest; });
  if (wrong != radians.end()) {
    throw Error(kWhere, {"radians", "be finite and at most 2^53", formatted("{}", *wrong)});
  }
  // Each pair's angle is a coordinate of its own, rotated with frequency 1.
  const kernels::KernelTable& table = cpu::kernels_for(kWhere, isa);
  const std::int64_t pairs = layout.pairs();
  const cpu::Turns turns = cpu::turns(std::vector<double>(static_cast<std::size_t>(pairs), 1.0));
  cpu::TableAccess::Rows rows(2 * radians.size());
  table.angles({
      .rows = count,
      .pairs = pairs,
      .x = radians.data(),
      .x_stride = pairs,
      .per_pair = true,
      .near_limit = turns.near_limit,
      .hi = turns.hi.data(),
      .lo = turns.lo.data(),
      .lowest = turns.lowest.data(),
      .factor = attention_factor,
      .cos = rows.data(),
      .sin = rows.data() + pairs,
      .out_stride = 2 * pairs,
  });
  return cpu::TableAccess::make(layout, attention_factor, start, std::move(rows));
}

}  // namespace posenc::inline v0_2
