// What keys that one plan's layer cached are to the other plan's layer.
#pragma once

#include <optional>

#include "plan/compare/rotations.h"
#include "posenc/compare.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Without its layers; a null side has no such layer. Nothing when neither layer caches keys of its own.
std::optional<CachedKeys> cached_keys(const LayerPlan* a, const LayerPlan* b, const CompareScope& scope);

}  // namespace posenc::plan
