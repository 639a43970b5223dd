#include "diagnose/precision.h"

#include <algorithm>
#include <limits>

#include "base/formatted.h"
#include "diagnose/noise.h"
#include "diagnose/weighing.h"

namespace posenc::inline v0_2::port {
namespace {

// Half an ulp of 1 of the table that the steps end in; angles that are rounded to it are worse than that.
double unit_of(Steps steps) {
  switch (steps) {
    case Steps::exact: return 0.0;
    case Steps::float32:
    case Steps::float32_table: return 0x1p-24;
    case Steps::bfloat16_table: return 0x1p-8;
    case Steps::float16_table: return 0x1p-11;
    case Steps::bfloat16_frequencies:
    case Steps::float16_frequencies:
    case Steps::bfloat16_angles:
    case Steps::float16_angles:
    case Steps::float32_recurrence:
    case Steps::float32_sums: return 1.0;
  }
  return 0.0;
}

}  // namespace

std::string_view words(Steps steps) noexcept {
  switch (steps) {
    case Steps::exact: return "float64";
    case Steps::float32: return "float32";
    case Steps::float32_table: return "float32 table";
    case Steps::bfloat16_table: return "bfloat16 table";
    case Steps::float16_table: return "float16 table";
    case Steps::bfloat16_frequencies: return "bfloat16 frequencies";
    case Steps::float16_frequencies: return "float16 frequencies";
    case Steps::bfloat16_angles: return "bfloat16 angles";
    case Steps::float16_angles: return "float16 angles";
    case Steps::float32_recurrence: return "float32 recurrence";
    case Steps::float32_sums: return "float32 sums of angles";
  }
  return "";
}

FoundPrecision found_precision(const MeasuredTable& table, const Explanation& explanation) {
  FoundPrecision out;
  std::vector<std::pair<Steps, double>> misfits;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSteps; ++i) {
    const auto steps = static_cast<Steps>(i);
    misfits.emplace_back(steps, misfit(table, explanation, steps));
    least = std::min(least, misfits.back().second);
  }
  for (const auto& [steps, value] : misfits) {
    if (value - least <= 2 * level_of(kSteps)) out.as_good.push_back(steps);
  }
  out.coarse = std::ranges::all_of(
      out.as_good, [&](Steps steps) { return unit_of(steps) > 0x1p-24 && unit_of(steps) > table.after_unit; });
  std::vector<std::string> names;
  for (const Steps steps : out.as_good) names.emplace_back(words(steps));
  out.words = joined(names, " or ");
  return out;
}

}  // namespace posenc::inline v0_2::port
