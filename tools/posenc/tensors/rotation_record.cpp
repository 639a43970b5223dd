// The array is appended to as text, and only directions are read from it: within JSON's strings a quote is escaped, so
// that no text of a step can be taken for one.
#include "tensors/rotation_record.h"

#include <cstddef>

#include "line/formatted.h"

namespace posenc::tool {
namespace {

constexpr std::string_view kDirection = "\"direction\"";
constexpr std::string_view kSpace = " \t\r\n";

std::string key_of(std::string_view tensor) { return formatted("posenc.rotate.{}", tensor); }

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Another program may have written the JSON again, with other spaces.
bool follows(std::string_view text, std::string_view value) {
  text = without_space(text);
  if (!text.starts_with(':')) return false;
  return without_space(text.substr(1)).starts_with(value);
}

}  // namespace

std::string rotation_record(const Metadata& metadata, std::string_view tensor) {
  const auto found = metadata.find(key_of(tensor));
  return found == metadata.end() ? "" : found->second;
}

void add_rotation(Metadata& metadata, std::string_view tensor, std::string_view before, const std::string& step) {
  std::string_view steps = without_space(before);
  // What is no array is nothing that posenc has written.
  if (steps.starts_with('[') && steps.ends_with(']')) {
    steps = without_space(steps.substr(1, steps.size() - 2));
  } else {
    steps = {};
  }
  metadata[key_of(tensor)] = formatted("[{}{}{}]", steps, steps.empty() ? "" : ", ", step);
}

std::int64_t times_rotated(std::string_view record) {
  std::int64_t times = 0;
  for (std::size_t at = record.find(kDirection); at != std::string_view::npos; at = record.find(kDirection, at)) {
    at += kDirection.size();
    if (follows(record.substr(at), "\"forward\"")) ++times;
    if (follows(record.substr(at), "\"inverse\"")) --times;
  }
  return times;
}

}  // namespace posenc::tool
