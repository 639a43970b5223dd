// fmt::format, compiled once: its templates were nine tenths of the object of each file that used it.
// Patterns are checked against their arguments when a caller is compiled, as fmt::format does.
#pragma once

#include <fmt/core.h>

#include <string>

namespace posenc::tool {

std::string vformatted(fmt::string_view pattern, fmt::format_args arguments);

template <typename... T>
std::string formatted(fmt::format_string<T...> pattern, T&&... arguments) {
  return vformatted(pattern, fmt::make_format_args(arguments...));
}

}  // namespace posenc::tool
