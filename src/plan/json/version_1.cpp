// The names in a plan's JSON that schema_version 2 changed (logit_scale is softmax_scale now), looked up both ways.
#include "plan/json/version_1.h"

#include <algorithm>
#include <cstddef>

namespace posenc::plan {
namespace {

struct Renamed {
  std::string_view now;
  std::string_view before;
};
constexpr Renamed kRenamed[] = {
    {"softmax_scale", "logit_scale"},    // of a layer
    {"axis_frequencies", "ladder"},      // of a rotation
    {"strided", "dealt"},                // its value
    {"rotation_direction", "sense"},     // of a rotation
    {"geometric_slopes", "one_ladder"},  // of ALiBi
};

}  // namespace

std::string_view name_in(std::int64_t version, std::string_view name) {
  const auto* const found = std::ranges::find(kRenamed, name, &Renamed::now);
  return found == std::end(kRenamed) || version != 1 ? name : found->before;
}

std::optional<std::string_view> mixed_in(std::int64_t version, std::string_view written) {
  for (const Renamed& name : kRenamed) {
    if (written == (version == 1 ? name.now : name.before)) return version == 1 ? name.before : name.now;
  }
  return std::nullopt;
}

std::optional<std::string> place_from(std::int64_t version, std::string_view where) {
  std::string out;
  while (!where.empty()) {
    const std::size_t end = std::min(where.find('/', 1), where.size());
    const bool is_rooted = where.front() == '/';
    std::string_view segment = where.substr(is_rooted ? 1 : 0, end - (is_rooted ? 1 : 0));
    if (mixed_in(version, segment)) return std::nullopt;
    const auto* const found = std::ranges::find(kRenamed, segment, &Renamed::before);
    if (version == 1 && found != std::end(kRenamed)) segment = found->now;
    out.append(is_rooted ? "/" : "").append(segment);
    where.remove_prefix(end);
  }
  return out;
}

std::string_view of_other_version(std::int64_t version) {
  return version == 1 ? "a name of schema_version 2" : "a name of schema_version 1";
}

}  // namespace posenc::plan
