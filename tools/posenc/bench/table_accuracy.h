// The worst error of exact angle tables, in units in the last place of the true float, against angle_truth.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "posenc/info.h"
#include "posenc/plan.h"

namespace posenc::tool {

// Position and pair at which it was found; of cos or sin, whichever is further off.
struct WorstError {
  Isa isa = Isa::scalar;
  double ulp = 0.0;
  std::int64_t position = 0;
  std::int64_t pair = 0;
};

struct Accuracy {
  std::int64_t rotations = 0;     // different ones of the plan
  std::int64_t positions = 0;     // judged, of all of them
  std::int64_t angles = 0;        // positions times pairs
  std::vector<WorstError> worst;  // of each supported instruction set
};

// Positions in each of the two tables, and positions drawn.
inline constexpr std::int64_t kBlock = 4096;
inline constexpr std::int64_t kDrawn = 4096;

// The rotations of a plan by positions in a sequence, each different one once, the most used first.
std::vector<Rope> rotations_by_use(const Plan& plan);

// Positions at random from 0 to 2^31, as many in each doubling of the trained length as in any other.
std::vector<std::int64_t> drawn_positions(std::int64_t trained);

// Positions: the first and the last kBlock of the trained length as a table, and from there to 2^31 on both sides of
// 0: kDrawn drawn at random (fixed seed), the edges of float and int, and the hardest ones of every pair.
Accuracy measure_accuracy(const std::vector<Rope>& rotations, std::optional<std::int64_t> trained_length);

}  // namespace posenc::tool
