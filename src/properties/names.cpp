// The names that JSON and the command line share.
#include "posenc/properties.h"

namespace posenc {

std::string_view name(Stage stage) noexcept {
  switch (stage) {
    case Stage::input: return "input";
    case Stage::rotate: return "rotate";
    case Stage::score: return "score";
    case Stage::value: return "value";
  }
  return "unknown";
}

}  // namespace posenc
