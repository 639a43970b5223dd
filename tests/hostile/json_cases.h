// The hostile JSON texts: B1 to B17 of the checklist, as far as they concern the reader.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"

namespace posenc::test {

// What is asked of the document once it is read: nothing when it answers as it should, else the error.
using Ask = std::function<std::optional<FileError>(const io::JsonDocument&)>;

struct Place {
  std::int64_t line = -1;
  std::int64_t column = -1;
  std::int64_t offset = -1;
  std::string pointer;
};

struct JsonCase {
  std::string id;
  std::function<std::string()> make;
  std::optional<ErrorKind> kind;  // nothing: accepted
  Place place;
  std::string fragment;  // of the message
  Ask ask;
};

std::vector<JsonCase> json_cases();

}  // namespace posenc::test
