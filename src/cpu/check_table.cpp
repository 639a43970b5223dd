#include "cpu/check_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kLargestInteger = std::int64_t{1} << 53U;

void require(bool holds, std::string_view where, const char* field, const char* must, std::string is) {
  if (!holds) throw Error(where, {field, must, std::move(is)});
}

}  // namespace

void check_layout(std::string_view where, const RotaryLayout& layout) {
  require(layout.dim > 0 && layout.dim % 2 == 0, where, "layout.dim", "be even and above 0",
          fmt::to_string(layout.dim));
  require(layout.first_channel >= 0, where, "layout.first_channel", "be at least 0",
          fmt::to_string(layout.first_channel));
  require(layout.dim <= layout.head_dim && layout.first_channel <= layout.head_dim - layout.dim, where,
          "layout.head_dim", "be at least first_channel + dim", fmt::to_string(layout.head_dim));
  const AxisMap& axes = layout.axes;
  require(!axes.names.empty(), where, "layout.axes.names", "name an axis", "empty");
  if (axes.of_pair.empty()) return;
  require(std::ssize(axes.of_pair) == layout.pairs(), where, "layout.axes.of_pair", "have dim/2 entries",
          fmt::format("{} long", axes.of_pair.size()));
  for (const std::int32_t axis : axes.of_pair) {
    require(axis >= 0 && axis < std::ssize(axes.names), where, "layout.axes.of_pair", "name axes by their index",
            fmt::to_string(axis));
  }
}

void check_factor(std::string_view where, double attention_factor) {
  require(std::abs(attention_factor) <= static_cast<double>(std::numeric_limits<float>::max()), where,
          "attention_factor", "be finite in float", fmt::to_string(attention_factor));
}

void check_frequencies(std::string_view where, const Frequencies& frequencies, std::int64_t pairs) {
  require(std::ssize(frequencies.inv_freq) == pairs, where, "inv_freq", "have dim/2 entries",
          fmt::format("{} long", frequencies.inv_freq.size()));
  for (const double f : frequencies.inv_freq) {
    require(std::abs(f) <= kLargest, where, "inv_freq", "be finite and at most 2^53", fmt::to_string(f));
  }
  check_factor(where, frequencies.attention_factor);
}

void check_range(std::string_view where, std::int64_t start, std::int64_t count) {
  require(count >= 0, where, "count", "be at least 0", fmt::to_string(count));
  require(start >= -kLargestInteger && start <= kLargestInteger, where, "start", "lie within -2^53 .. 2^53",
          fmt::to_string(start));
  require(count <= kLargestInteger + 1 - start, where, "start + count - 1", "be at most 2^53",
          fmt::format("{} + {} - 1", start, count));
}

void check_bytes(std::string_view where, std::string_view what, std::int64_t rows, std::int64_t pairs,
                 std::int64_t max_bytes) {
  constexpr std::int64_t kBytesPerPair = 2 * sizeof(float);
  const std::int64_t rows_that_fit = std::max<std::int64_t>(max_bytes, 0) / kBytesPerPair / pairs;
  if (rows <= rows_that_fit) return;
  throw Error(where, {std::string(what), fmt::format("be at most {} (max_bytes {})", rows_that_fit, max_bytes),
                      fmt::to_string(rows)});
}

void check_angles(std::string_view where, double largest_position, const Frequencies& frequencies) {
  double largest = 0.0;
  for (const double f : frequencies.inv_freq) largest = std::max(largest, std::abs(f));
  require(largest_position * largest <= kLargest, where, "position * inv_freq", "be at most 2^53 radians",
          fmt::to_string(largest_position * largest));
}

}  // namespace posenc::cpu
