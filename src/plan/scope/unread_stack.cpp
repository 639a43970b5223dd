// A stack that met an error: what it was and why it is not known, in place of the error.
#include <string>
#include <utility>

#include "base/formatted.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {
namespace {

// "/vision_config/depth: expected an integer from 1 to 768, got 0": the message without the place in the file, escaped.
std::string reason(FileError error) {
  error.file.clear();
  error.line = -1;
  error.offset = -1;
  return error.message();
}

}  // namespace

void settle_stack(ConfigReader& reader, std::string_view name, StackFacts& stack) {
  if (const std::optional<FileError> error = reader.forgive()) {
    stack = {.name = std::string(name), .trained_length = {0, "default: not read"}};
    std::vector<std::string> keys;
    if (!error->path.empty()) keys.push_back(error->path);
    reader.undecided(formatted("The stack {} is not read: {}.", name, reason(*error)), std::move(keys));
  }
  stack.unknown = reader.take_undecided();
}

}  // namespace posenc::plan
