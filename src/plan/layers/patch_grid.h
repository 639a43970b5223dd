// The two sides of an image, in pixels or in patches.
#pragma once

#include <cstdint>
#include <string>

#include "plan/keys/config_keys.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

inline constexpr std::int64_t kMaxSide = std::int64_t{1} << 20;  // pixels, or rows; the square stays far below 2^53
inline constexpr Bounds kGridSides{1, kMaxSide};

struct Sides {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

// Where the value of that key comes from; empty where there is none.
std::string from_of(ConfigScope& scope, const Key& key);

// A number, or [height, width].
Sides read_sides(ConfigScope& scope, const Key& key);

// Patches along the two sides of the image that a model was trained with.
struct PatchGrid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::string from;
};

PatchGrid read_patch_grid(ConfigScope& scope, const Key& image = keys::kImageSize, const Key& patch = keys::kPatchSize);

}  // namespace posenc::plan
