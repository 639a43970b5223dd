// The hostile GGUF files: C1 to C28 of the checklist, and A7.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "posenc/error.h"

namespace posenc::test {

struct GgufCase {
  std::string id;
  std::function<std::string()> make;
  std::optional<ErrorKind> kind;  // nothing: accepted
  std::string fragment;           // of the message; of an accepted file: the code of its warning, or empty
  std::string path{};             // the key or tensor that is named
  std::int64_t offset = -1;       // -1: not asked for
};

std::vector<GgufCase> gguf_cases();

}  // namespace posenc::test
