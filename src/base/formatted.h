// fmt::format, compiled once: its templates were nine tenths of the object of a file that used it.
#pragma once

#include <fmt/core.h>

#include <string>

namespace posenc {

std::string vformatted(fmt::string_view pattern, fmt::format_args arguments);

// The pattern is checked against the arguments when it is compiled.
template <typename... T>
std::string formatted(fmt::format_string<T...> pattern, T&&... arguments) {
  return vformatted(pattern, fmt::make_format_args(arguments...));
}

}  // namespace posenc
