// Something odd that does not hinder: given beside a result, never printed.
#pragma once

#include <string>
#include <vector>

namespace posenc::inline v0_2 {

struct Warning {
  std::string code;  // stable, kebab case: "precedence"
  std::string message;
  std::vector<std::string> keys;  // JSON pointers into the file, or GGUF's keys and tensors
  bool operator==(const Warning&) const = default;
};

}  // namespace posenc::inline v0_2
