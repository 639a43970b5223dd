// The tables of `posenc properties`, a file each: what is written to standard output, for people or as JSON
// (docs/properties.schema.json).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "line/command_line.h"
#include "posenc/properties.h"

namespace posenc::tool {

std::string scheme_list(const PropertiesArguments& arguments);
std::string property_table(const PropertiesArguments& arguments);
std::string cost_table(const PropertiesArguments& arguments);
std::string order_table(const PropertiesArguments& arguments);
std::string four_terms_table(const PropertiesArguments& arguments);
std::string decay_table(const PropertiesArguments& arguments);
std::string noise_table(const PropertiesArguments& arguments);

// ---- What they have in common ----

// Those of the asked names, which properties_options.cpp has checked; all, or all of the input stage, where none is.
std::vector<MeasuredScheme> asked_schemes(const PropertiesArguments& arguments);
std::vector<MeasuredScheme> asked_input_schemes(const PropertiesArguments& arguments);

inline constexpr std::int64_t kMeasuredColumns = 7;
// At most `digits` significant digits, fewer where that takes more than kMeasuredColumns, whole numbers from 100 on;
// "0" for what is below 1e-9 and may be rounding, which differs between machines; "inf".
std::string measured_number(double value, int digits = 3);

// [{"name": ..., "stage": ..., "about": ..., and more members}] of a document with a version.
std::string scheme_json(const MeasuredScheme& scheme, const std::vector<std::pair<std::string, std::string>>& more);
std::string document_json(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace posenc::tool
