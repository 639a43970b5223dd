// What a config key means when the file leaves it out: the defaults of the transformers configuration
// classes, for the keys that bear on positions. The table is made by scripts/class_defaults.py.
//
// A row has the values that the class itself fixes. What a class derives from other keys (key/value heads
// from heads, a head's width from the hidden size, layer types from a pattern) is not here: the family's
// rules derive it. A key that the file sets to null is not absent: null is its value.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace posenc::plan {

// The defaults of one class.
struct ClassDefaults {
  std::string_view model_type;  // as in the file; a composite model has the row of its text decoder
  std::string_view class_name;  // "LlamaConfig"
  std::string_view values;      // "head_dim=128; rope_theta=10000.0": flat Hugging Face names, sorted, and JSON
};

// That of one key.
struct ClassDefault {
  std::string_view class_name;
  std::string_view json;  // the value as JSON text: "10000.0", "true", an object
};

// All rows, sorted by model type, none twice.
std::span<const ClassDefaults> class_defaults() noexcept;

// The transformers version that the rows were read from.
std::string_view class_defaults_version() noexcept;

// Nothing where the class fixes no value or the model type has no class.
std::optional<ClassDefault> find_class_default(std::string_view model_type, std::string_view key) noexcept;

// The same for models whose class is not in transformers: the defaults of their published code.
struct PublishedDefault {
  std::string_view model_type;
  std::string_view key;
  std::string_view json;    // the value as JSON text
  std::string_view source;  // "ChatGLMConfig of its published code"
};

// Null where no published code fixes a value.
const PublishedDefault* find_published_default(std::string_view model_type, std::string_view key) noexcept;

}  // namespace posenc::plan
