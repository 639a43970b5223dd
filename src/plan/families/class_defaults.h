// What a config key means when the file leaves it out: the defaults of the transformers configuration
// classes, for the keys that bear on positions. The table is made by scripts/class_defaults.py.
//
// A row is a value that the class itself fixes. What a class derives from other keys (key/value heads
// from heads, a head's width from the hidden size, layer types from a pattern) is not here: the family's
// rules derive it. A key that the file sets to null is not absent: null is its value.
#pragma once

#include <span>
#include <string_view>
#include <tuple>

namespace posenc::plan {

struct ClassDefault {
  std::string_view model_type;  // as in the file; a composite model has the rows of its text decoder
  std::string_view class_name;  // "LlamaConfig"
  std::string_view key;         // flat Hugging Face name: "rope_theta", also where v5 nests it
  std::string_view json;        // the value as JSON text: "10000.0", "true", an object
};

// Strict order of the table: model type, then key.
constexpr bool comes_before(const ClassDefault& row, std::string_view model_type, std::string_view key) noexcept {
  return std::tie(row.model_type, row.key) < std::tie(model_type, key);
}

// All rows, sorted, no (model_type, key) twice.
std::span<const ClassDefault> class_defaults() noexcept;

// The transformers version that the rows were read from.
std::string_view class_defaults_version() noexcept;

// The row of one key, or null where the class fixes no value or the model type has no class.
const ClassDefault* find_class_default(std::string_view model_type, std::string_view key) noexcept;

}  // namespace posenc::plan
