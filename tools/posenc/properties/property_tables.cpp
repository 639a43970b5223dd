// Which schemes a table has, how its numbers are written, and the frame of its JSON.
#include "properties/property_tables.h"

#include <algorithm>
#include <cmath>

#include "line/formatted.h"
#include "line/json_text.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

using RowMembers = std::vector<std::pair<std::string, std::string>>;

// Rounding leaves 1e-13 or so (docs/properties.md).
constexpr double kRounded = 1e-9;

// In the order of measured_schemes(), by stage, whatever that of the command line.
std::vector<MeasuredScheme> asked(const PropertiesArguments& arguments, bool inputs_only) {
  std::vector<MeasuredScheme> out;
  for (const MeasuredScheme& scheme : measured_schemes()) {
    const bool named =
        std::find(arguments.schemes.begin(), arguments.schemes.end(), scheme.name) != arguments.schemes.end();
    const bool fits = !inputs_only || scheme.stage == Stage::input;
    if (fits && (named || arguments.schemes.empty())) out.push_back(scheme);
  }
  return out;
}

}  // namespace

std::vector<MeasuredScheme> asked_schemes(const PropertiesArguments& arguments) { return asked(arguments, false); }

std::vector<MeasuredScheme> asked_input_schemes(const PropertiesArguments& arguments) { return asked(arguments, true); }

std::string measured_number(double value, int digits) {
  if (std::abs(value) < kRounded) return "0";
  if (std::abs(value) >= 100) return formatted("{:.0f}", value);
  const std::string text = number(value, digits);
  return std::ssize(text) <= kMeasuredColumns ? text : number(value, digits - 1);
}

std::string scheme_json(const MeasuredScheme& scheme, const RowMembers& more) {
  RowMembers members{{"name", json_string(scheme.name)},
                  {"stage", json_string(name(scheme.stage))},
                  {"about", json_string(scheme.about)}};
  members.insert(members.end(), more.begin(), more.end());
  return json_object(members);
}

std::string document_json(const RowMembers& members) {
  RowMembers all{{"schema_version", "1"}};
  all.insert(all.end(), members.begin(), members.end());
  return json_object(all) + "\n";
}

}  // namespace posenc::tool
