// fmt::format, compiled once: the templates behind it are a hundred times as much code as a file that prints a few
// lines.
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
