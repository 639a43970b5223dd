// The warnings of a file, each once, in the order in which they came. A file may give rise to as many as it has bytes
// to spare, so that one is found by its hash and not by looking at those before.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "posenc/warning.h"

namespace posenc::plan {

class WarningList {
 public:
  void add(std::string_view code, std::string message, std::vector<std::string> keys);
  std::vector<Warning> take();

 private:
  std::vector<Warning> all_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;  // of the message: places in all_
};

}  // namespace posenc::plan
