// What a config key means when the file leaves it out: the defaults of the transformers configuration
// classes, for the keys that bear on positions. The table is made by scripts/class_defaults.py.
//
// A row has the values that the class itself fixes. What a class derives from other keys (key/value heads
// from heads, a head's width from the hidden size, layer types from a pattern) is not here: the family's
// rules derive it. A key that the file sets to null is not absent: null is its value.
//
// A row has the names, too, of the other keys of config_keys.inc that the class reads: what stands in its file under
// another name has no effect.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/keys/key.h"

namespace posenc::plan {

// The defaults of one class.
struct ClassDefaults {
  std::string_view model_type;  // as in the file; a composite model has the row of its text decoder
  std::string_view class_name;  // "LlamaConfig"
  std::string_view values;      // "head_dim=128; rope_theta=10000.0": flat Hugging Face names, sorted, and JSON
  Names others;                 // keys without a default; rope_parameters stands for all that may move into it: the
                                // base, the part that rotates, rope_scaling
  Names aliases = {};           // "sliding_window=attention_window_size": the first name sets the second, and beats it
  Names in_attn_config = {};    // what it reads of an object of that name
};

// That of one key.
struct ClassDefault {
  std::string_view class_name;
  std::string_view json;  // the value as JSON text: "10000.0", "true", an object
};

// All rows, sorted by model type, none twice.
std::span<const ClassDefaults> class_defaults() noexcept;

// The row of a model type; null when there is none.
const ClassDefaults* find_class_defaults(std::string_view model_type) noexcept;

// A class that has its text's configuration as a part.
struct WrapperText {
  std::string_view model_type;
  std::string_view part;  // "text_config"
  Names own_keys;         // for which it has values of its own, where the file has no such part
  bool fills_part;        // ... or has it without them
  bool takes_flat;        // keys that stand beside the part are its text's
};

std::span<const WrapperText> wrapper_texts() noexcept;

// Null when there is none.
const WrapperText* find_wrapper_text(std::string_view model_type) noexcept;

// The transformers version that the rows were read from.
std::string_view class_defaults_version() noexcept;

// Nothing where the class fixes no value or the model type has no class.
std::optional<ClassDefault> find_class_default(std::string_view model_type, std::string_view key) noexcept;

// Whether the class of a row reads a key of that name, or in its object attn_config. per_layer_config is every class's.
bool class_reads(const ClassDefaults& row, std::string_view name, bool in_attn_config = false) noexcept;

// ... or sets one by an alias of that name.
bool class_takes(const ClassDefaults& row, std::string_view name) noexcept;

// The aliases by which a class takes a key of that name, at the end of `names`, none twice.
void add_aliases(const ClassDefaults& row, std::string_view name, std::vector<std::string_view>& names);

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
