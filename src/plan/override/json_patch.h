// A JSON patch (RFC 6902) of "add" and "remove", whose "add" replaces what stands there, and its application to a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json/json.h"

namespace posenc::plan {

struct PatchStep {
  bool removes = false;
  std::vector<std::string> path;  // members from the root: "text_config", "rope_theta"
  std::string value{};            // JSON on one line; of a removal empty
  bool operator==(const PatchStep&) const = default;
};

// [{"op": "add", "path": "/rope_theta", "value": 1000000.0}], a step a line.
std::string patch_text(const std::vector<PatchStep>& steps);

// The text of the document, an object, with the steps carried out: "add" makes the objects that a path lacks.
std::string patched(std::string_view text, const io::JsonDocument& document, const std::vector<PatchStep>& steps);

// The object on one line, without the members of these names.
std::string compact_without(const io::JsonValue& object, std::vector<std::string_view> names);

}  // namespace posenc::plan
