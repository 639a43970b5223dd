// The one file that has the code of fmt: all others see declarations. formatted.h says why.
#define FMT_HEADER_ONLY
#include "base/formatted.h"

#include <fmt/format.h>

namespace posenc::inline v0_2 {

std::string vformatted(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(pattern, arguments);
}

}  // namespace posenc::inline v0_2
