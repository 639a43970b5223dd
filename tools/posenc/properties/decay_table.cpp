// posenc properties --decay: RoFormer's bound, q = k, random q and k, and a random table, by distance.
//
// posenc/properties.h (DecayCurves) defines the columns; `posenc plot decay` draws them. The table has powers of two,
// JSON every distance from 0 to 1024.
#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

// 0, 1, 2, 4, ..., the longest.
bool is_shown(std::int64_t distance) { return (distance & (distance - 1)) == 0; }

std::string three_decimals(double value) { return formatted("{:.3f}", value); }

std::string decay_text(const DecayCurves& curves, const DecayOptions& options) {
  std::vector<std::vector<std::string>> rows{
      {"distance", "bound", "of its first", "q = k", "random q, k", "", "random table", ""},
      {"tokens", "", "", "", "mean", "spread", "mean", "spread"}};
  for (std::size_t n = 0; n < curves.distances.size(); ++n) {
    if (!is_shown(curves.distances[n])) continue;
    rows.push_back({std::to_string(curves.distances[n]), three_decimals(curves.bound[n]),
                    three_decimals(curves.bound[n] / curves.bound[0]), three_decimals(curves.equal[n]),
                    three_decimals(curves.random_mean[n]), three_decimals(curves.random_spread[n]),
                    three_decimals(curves.table_mean[n]), three_decimals(curves.table_spread[n])});
  }
  Page page(output_wants_colour());
  page.line(page.paint(Style::bold, formatted("Scores of RoPE by distance, {} channels, base {}", options.dim,
                                              exact_number(options.base))));
  page.table(0, rows);
  page.blank();
  page.entry(2, "bound", 16, "RoFormer's: (2/d) sum over i of |sum over j < i of e^(i r theta_j)|");
  page.entry(2, "q = k", 16, "both (1, ..., 1): the score over that at distance 0");
  page.entry(2, "random q, k", 16,
             formatted("{} pairs of variance 1, over sqrt(d): a mean of 0 and a spread of 1 at every distance, which "
                       "is no decay",
                       options.samples));
  page.entry(2, "random table", 16, "rows that far apart in place of rotated vectors; at 0, a row with itself");
  return page.text();
}

std::string numbers_json(const std::vector<double>& numbers) {
  std::vector<std::string> out;
  for (const double x : numbers) out.push_back(json_number(x));
  return json_array(out);
}

std::string decay_json(const DecayCurves& curves, const DecayOptions& options) {
  std::vector<std::string> distances;
  for (const std::int64_t distance : curves.distances) distances.push_back(std::to_string(distance));
  return document_json({{"dim", std::to_string(options.dim)},
                        {"base", json_number(options.base)},
                        {"samples", std::to_string(options.samples)},
                        {"distances", json_array(distances)},
                        {"bound", numbers_json(curves.bound)},
                        {"equal", numbers_json(curves.equal)},
                        {"random_mean", numbers_json(curves.random_mean)},
                        {"random_spread", numbers_json(curves.random_spread)},
                        {"table_mean", numbers_json(curves.table_mean)},
                        {"table_spread", numbers_json(curves.table_spread)}});
}

}  // namespace

std::string decay_table(const PropertiesArguments& arguments) {
  // By steps of 1, so that every power of two is among the distances.
  const DecayOptions options{.step = 1};
  const DecayCurves curves = decay_curves(options);
  return arguments.json ? decay_json(curves, options) : decay_text(curves, options);
}

}  // namespace posenc::tool
