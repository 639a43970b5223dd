// One rotation beside another: how far their angles are apart, and whether the same channels rotate in other pairs.
#pragma once

#include <cstdint>
#include <optional>

#include "posenc/compare.h"
#include "posenc/plan.h"

namespace posenc::plan {

// What both plans are asked for.
struct CompareScope {
  std::optional<std::int64_t> length_a;  // Plan::length
  std::optional<std::int64_t> length_b;
  double tolerance = 0.0;
  std::optional<std::int64_t> length;  // Comparison::length
};

// Without its layers; nothing when the rotations have not equally many pairs.
std::optional<AngleChange> angle_change(const Rotate& a, const Rotate& b, const CompareScope& scope);

// Whether no angle below scope.length differs by more than the tolerance (without a length: below 2^53).
bool angles_hold(const AngleChange& change, const CompareScope& scope);
bool factors_hold(const AngleChange& change, const CompareScope& scope);

// Whether the frequencies change with the length of the sequence.
bool depends_on_length(const Scaling& scaling);

bool rotate_same_channels(const Rope& a, const Rope& b);

// Without its layers; nothing when pairing is equal, or other channels rotate.
std::optional<PairingChange> pairing_change(const Rope& a, const Rope& b);

}  // namespace posenc::plan
