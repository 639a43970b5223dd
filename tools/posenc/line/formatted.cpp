#include "line/formatted.h"

#include <fmt/format.h>

namespace posenc::tool {

std::string vformatted(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(pattern, arguments);
}

}  // namespace posenc::tool
