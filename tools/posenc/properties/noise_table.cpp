// posenc properties --noise: what a norm leaves of the token in M x + p.
//
// M is the embedding multiplier. The first norm of a model divides token and position by one number, and the layer norm
// takes the mean over channels away before: what is left of the position then (SignalToNoise, posenc/properties.h).
#include <array>
#include <cmath>

#include "line/formatted.h"
#include "line/json_text.h"
#include "line/page.h"
#include "line/text.h"
#include "properties/property_tables.h"

namespace posenc::tool {
namespace {

// `title` in the table, `name` as the member of the JSON.
struct Norm {
  QkNorm::Kind kind;
  std::string_view title;
  std::string_view name;
};
constexpr std::array<Norm, 2> kNorms{
    {{QkNorm::Kind::layer, "Layer norm", "layer"}, {QkNorm::Kind::rms, "RMS norm", "rms"}}};

// Root of the 32 channels that are measured: the multiplier of the Transformer's paper.
const std::array<double, 4> kMultipliers{1.0, 2.0, std::sqrt(32.0), 16.0};

// A row a scheme, a column a multiplier: "74 (0.99)", the ratio of powers and the cosine.
void add_table(Page& page, const Norm& norm, const std::vector<MeasuredScheme>& schemes) {
  std::vector<std::vector<std::string>> rows{{"scheme"}};
  for (const double multiplier : kMultipliers) rows[0].push_back("M = " + number(multiplier, 3));
  for (const MeasuredScheme& scheme : schemes) {
    std::vector<std::string> row{scheme.name};
    for (const SignalToNoise& found : signal_to_noise(scheme.name, kMultipliers, norm.kind)) {
      row.push_back(formatted("{} ({:.2f})", measured_number(found.ratio, 2), found.cosine));
    }
    rows.push_back(row);
  }
  page.line(page.paint(Style::bold, norm.title));
  page.table(0, rows);
  page.blank();
}

std::string noise_text(const std::vector<MeasuredScheme>& schemes) {
  Page page(output_wants_colour());
  for (const Norm& norm : kNorms) add_table(page, norm, schemes);
  page.entry(0, "", 0,
             formatted("Power of the token's part of M x + p over that of the position's, after the norm; in brackets "
                       "the mean cosine between what the norm makes of M x + p and of x. Over {} places and random "
                       "tokens x of variance 1. inf: the norm took the position away, and no order is left.",
                       kMeasuredPlaces));
  return page.text();
}

std::string points_json(const MeasuredScheme& scheme, QkNorm::Kind norm) {
  std::vector<std::string> points;
  for (const SignalToNoise& found : signal_to_noise(scheme.name, kMultipliers, norm)) {
    points.push_back(json_object({{"multiplier", json_number(found.multiplier)},
                                  {"ratio", json_number(found.ratio)},
                                  {"cosine", json_number(found.cosine)}}));
  }
  return json_array(points);
}

std::string noise_json(const std::vector<MeasuredScheme>& schemes) {
  std::vector<std::string> list;
  for (const MeasuredScheme& scheme : schemes) {
    std::vector<std::pair<std::string, std::string>> members;
    for (const Norm& norm : kNorms) members.emplace_back(norm.name, points_json(scheme, norm.kind));
    list.push_back(scheme_json(scheme, members));
  }
  return document_json({{"schemes", json_array(list)}});
}

}  // namespace

std::string noise_table(const PropertiesArguments& arguments) {
  const std::vector<MeasuredScheme> schemes = asked_input_schemes(arguments);
  return arguments.json ? noise_json(schemes) : noise_text(schemes);
}

}  // namespace posenc::tool
