// Numbers of heads, pairs or tokens in a sentence: the first of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/formatted.h"

namespace posenc::inline v0_2::port {

template <typename Number>
std::string few_of(const std::vector<Number>& numbers, std::size_t most = 8) {
  const std::vector<Number> few(numbers.begin(),
                                numbers.begin() + static_cast<std::ptrdiff_t>(std::min(most, numbers.size())));
  return formatted("{}{}", joined(few, ", "), numbers.size() > few.size() ? ", ..." : "");
}

}  // namespace posenc::inline v0_2::port
