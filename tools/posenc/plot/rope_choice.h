// Which rotation is drawn: a model's, or one of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plot/plot_arguments.h"
#include "posenc/rope.h"

namespace posenc::tool {

struct RopeChoice {
  Rope rope;
  std::optional<std::int64_t> trained{};  // tokens
  std::string detail;                     // whose it is, and its numbers
};

// Throws UsageError, or Failure for a model without such a rotation.
RopeChoice choose_rope(const RopeWords& words);

// Whether the frequencies depend on the length of the sequence, and where that shows: at up to three lengths.
std::vector<std::int64_t> telling_lengths(const Rope& rope);

}  // namespace posenc::tool
