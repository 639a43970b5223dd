// What a key means when the file leaves it out, for models whose class is not in transformers: the defaults of their
// published code.
#pragma once

#include <string_view>

namespace posenc::plan {

struct PublishedDefault {
  std::string_view model_type;
  std::string_view key;
  std::string_view json;    // the value as JSON text
  std::string_view source;  // "ChatGLMConfig of its published code"
};

// Null where no published code fixes a value.
const PublishedDefault* find_published_default(std::string_view model_type, std::string_view key) noexcept;

}  // namespace posenc::plan
