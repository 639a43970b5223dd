// What rounded tables of cos and sin lose, by position.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "posenc/error.h"
#include "posenc/rotary_table.h"
#include "posenc/wavelength.h"
#include "report/parts.h"

namespace posenc::report {

std::optional<TableErrors> table_errors(const Rope& rope, const Lengths& lengths) {
  constexpr std::int64_t kJudged = 16;  // positions before each
  TableErrors out{.positions = doubling(64, lengths.target), .float32 = {}, .bfloat16 = {}};
  try {
    (void)frequencies(rope, lengths.target, Arithmetic::float32);
    for (const std::int64_t end : out.positions) {
      const auto off = [&](Angles angles) {
        return angle_error(rope, angles, end, std::min(kJudged, end), lengths.target).largest;
      };
      out.float32.push_back(off(Angles::float32));
      out.bfloat16.push_back(off(Angles::bfloat16));
    }
  } catch (const Error&) {
    return {};
  }
  return out;
}

}  // namespace posenc::report
