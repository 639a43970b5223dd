// JSON for what is not a plan: info, presets, demo. Objects and arrays are strings already made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace posenc::tool {

// In quotes, with quotes, backslashes and control characters escaped. Other bytes stay as they are: for JSON, `text`
// has to be UTF-8.
std::string json_string(std::string_view text);
std::string json_number(double value);  // shortest; null when it is not finite
std::string json_array(const std::vector<std::string>& values);
// Members in the order given; names are escaped here, values are JSON already.
std::string json_object(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace posenc::tool
