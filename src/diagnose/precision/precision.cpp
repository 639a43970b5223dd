#include "diagnose/precision/precision.h"

#include <algorithm>
#include <limits>

#include "base/formatted.h"
#include "diagnose/noise.h"
#include "diagnose/weighing.h"

namespace posenc::inline v0_2::port {
namespace {

// Sums and products that are carried from position to position err more the farther they are. Up to what float32 angles
// err by, float32 angles they may be: no two libraries round their frequencies alike.
bool errs_as_float32(const MeasuredTable& table, const Explanation& explanation, Steps steps) {
  if (!is_carried(steps)) return false;
  Hypothesis hypothesis{&explanation.frequencies, &explanation.places, &explanation.axis_of_pair, Steps::exact};
  const auto exact = predicted(table, hypothesis);
  hypothesis.steps = steps;
  const auto carried = predicted(table, hypothesis);
  const double base = explanation.frequencies.rope ? explanation.frequencies.rope->base : 1e6;
  for (std::size_t r = 0; r < table.rows; ++r) {
    for (std::size_t p = 0; p < table.pairs; ++p) {
      const std::size_t axis =
          explanation.axis_of_pair.empty() ? 0 : static_cast<std::size_t>(explanation.axis_of_pair[p]);
      const double angle = explanation.places.axes[axis][r] * explanation.frequencies.inv_freq[p];
      const double allowed = table.factor[p] * (angle_tolerance(angle, base) + 2 * 0x1p-24);
      if (std::abs(carried[table.at(r, p)] - exact[table.at(r, p)]) > allowed) return false;
    }
  }
  return true;
}

// Half an ulp of 1 of the table that the steps end in; angles that are rounded to it are worse than that.
double unit_of(Steps steps) {
  switch (steps) {
    case Steps::exact: return 0.0;
    case Steps::float32:
    case Steps::float32_table: return 0x1p-24;
    case Steps::bfloat16_table:
    case Steps::bfloat16_table_exact: return 0x1p-8;
    case Steps::float16_table:
    case Steps::float16_table_exact: return 0x1p-11;
    case Steps::bfloat16_frequencies:
    case Steps::float16_frequencies:
    case Steps::bfloat16_angles:
    case Steps::float16_angles:
    case Steps::bfloat16_products:
    case Steps::float16_products:
    case Steps::bfloat16_products_of_frequencies:
    case Steps::float16_products_of_frequencies:
    case Steps::bfloat16_products_of_both:
    case Steps::float16_products_of_both:
    case Steps::float32_recurrence:
    case Steps::float32_recurrence_exact:
    case Steps::float16_recurrence:
    case Steps::float16_recurrence_exact:
    case Steps::bfloat16_recurrence:
    case Steps::bfloat16_recurrence_exact:
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
    case Steps::bfloat16_table:
    case Steps::bfloat16_table_exact: return "bfloat16 table";
    case Steps::float16_table:
    case Steps::float16_table_exact: return "float16 table";
    case Steps::bfloat16_frequencies: return "bfloat16 frequencies";
    case Steps::float16_frequencies: return "float16 frequencies";
    case Steps::bfloat16_angles:
    case Steps::bfloat16_products:
    case Steps::bfloat16_products_of_frequencies:
    case Steps::bfloat16_products_of_both: return "bfloat16 angles";
    case Steps::float16_angles:
    case Steps::float16_products:
    case Steps::float16_products_of_frequencies:
    case Steps::float16_products_of_both: return "float16 angles";
    case Steps::float32_recurrence:
    case Steps::float32_recurrence_exact: return "float32 recurrence";
    case Steps::float16_recurrence:
    case Steps::float16_recurrence_exact: return "float16 recurrence";
    case Steps::bfloat16_recurrence:
    case Steps::bfloat16_recurrence_exact: return "bfloat16 recurrence";
    case Steps::float32_sums: return "float32 sums of angles";
  }
  return "";
}

FoundPrecision found_precision(const MeasuredTable& measured, const Explanation& explanation) {
  FoundPrecision out;
  // A factor that was fitted to each pair would be worth more than the arithmetic.
  MeasuredTable table = measured;
  for (double& factor : table.factor) factor = nominal_factor(factor, explanation.frequencies, 0x1p-8);
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
  out.coarse = std::ranges::all_of(out.as_good, [&](Steps steps) {
    return unit_of(steps) > 0x1p-24 && unit_of(steps) > table.after_unit && !errs_as_float32(table, explanation, steps);
  });
  std::vector<std::string> names;
  for (const Steps steps : out.as_good) {
    if (std::ranges::find(names, words(steps)) == names.end()) names.emplace_back(words(steps));
  }
  out.words = joined(names, " or ");
  return out;
}

}  // namespace posenc::inline v0_2::port
