// fmt::format, compiled once in formatted.cpp: its templates were nine tenths of the object of a file that used it.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace posenc::inline v0_2 {

std::string vformatted(fmt::string_view pattern, fmt::format_args arguments);

// The pattern is checked against the arguments when it is compiled.
template <typename... T>
std::string formatted(fmt::format_string<T...> pattern, T&&... arguments) {
  return vformatted(pattern, fmt::make_format_args(arguments...));
}

// Texts, or numbers as formatted() writes them, one behind the other.
template <typename Range>
std::string joined(const Range& parts, std::string_view between) {
  std::string text;
  for (bool first = true; const auto& part : parts) {
    if (!std::exchange(first, false)) text += between;
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      text += formatted("{}", part);
    } else {
      text += part;
    }
  }
  return text;
}

}  // namespace posenc::inline v0_2
