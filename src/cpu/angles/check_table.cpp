// Checks of tables of cos and sin: layout, frequencies, attention factor, range of positions, bytes, and that no
// position and no angle passes 2^53, beyond which not every whole number is a double.
#include "cpu/angles/check_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/formatted.h"
#include "math/layout.h"
#include "posenc/error.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kLargestInteger = std::int64_t{1} << 53U;

void require(bool holds, std::string_view where, const char* field, const char* must, std::string is) {
  if (!holds) throw Error(where, {field, must, std::move(is)});
}

}  // namespace

void check_layout(std::string_view where, const RotaryLayout& layout) {
  if (const auto problem = math::check_layout(layout)) throw Error(where, *problem);
}

void check_factor(std::string_view where, double attention_factor) {
  require(std::abs(attention_factor) <= static_cast<double>(std::numeric_limits<float>::max()), where,
          "attention_factor", "be finite in float", formatted("{}", attention_factor));
}

void check_frequencies(std::string_view where, const Frequencies& frequencies, std::int64_t pairs) {
  require(std::ssize(frequencies.inv_freq) == pairs, where, "inv_freq", "have dim/2 entries",
          formatted("{} long", frequencies.inv_freq.size()));
  for (const double f : frequencies.inv_freq) {
    require(std::abs(f) <= kLargest, where, "inv_freq", "be finite and at most 2^53", formatted("{}", f));
  }
  check_factor(where, frequencies.attention_factor);
}

// Without a sum that could overflow: start is within 2^53 by then.
void check_range(std::string_view where, std::int64_t start, std::int64_t count) {
  require(count >= 0, where, "count", "be at least 0", formatted("{}", count));
  require(start >= -kLargestInteger && start <= kLargestInteger, where, "start", "lie within -2^53 .. 2^53",
          formatted("{}", start));
  require(count <= kLargestInteger + 1 - start, where, "start + count - 1", "be at most 2^53",
          formatted("{} + {} - 1", start, count));
}

// Divides instead of multiplying, so that no product can overflow.
void check_bytes(std::string_view where, std::string_view what, std::int64_t rows, std::int64_t pairs,
                 std::int64_t max_bytes) {
  constexpr std::int64_t kBytesPerPair = 2 * sizeof(float);
  const std::int64_t rows_that_fit = std::max<std::int64_t>(max_bytes, 0) / kBytesPerPair / pairs;
  if (rows <= rows_that_fit) return;
  throw Error(where, {std::string(what), formatted("be at most {} (max_bytes {})", rows_that_fit, max_bytes),
                      formatted("{}", rows)});
}

void check_angles(std::string_view where, double largest_position, const Frequencies& frequencies) {
  double largest = 0.0;
  for (const double f : frequencies.inv_freq) largest = std::max(largest, std::abs(f));
  require(largest_position * largest <= kLargest, where, "position * inv_freq", "be at most 2^53 radians",
          formatted("{}", largest_position * largest));
}

}  // namespace posenc::cpu
