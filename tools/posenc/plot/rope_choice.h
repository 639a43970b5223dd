// Which rotation is drawn: a model's, or one of the command line.
// What the figures wavelengths, scaling and rotation begin with.
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
  std::optional<std::int64_t> served{};   // up to which it is judged (inspect/rope_lengths.h)
  std::optional<std::int64_t> length{};   // tokens of a sequence: asked for, else the trained length
  std::string detail;                     // whose it is, and its numbers
  std::string numbers{};                  // the numbers alone
  std::string model{};                    // the name alone, of a model
  std::string layers{};                   // "decoder layers 0-31", of a model
};

// Throws UsageError, or Failure for a model without such a rotation.
RopeChoice choose_rope(const RopeWords& words);
// Of a model without --layer one of each kind.
std::vector<RopeChoice> choose_ropes(const RopeWords& words);

// The detail, with what a rule that depends on the length takes at the choice's.
std::string detail_at_length(const RopeChoice& choice);

}  // namespace posenc::tool
