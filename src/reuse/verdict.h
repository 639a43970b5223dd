// The verdict on one layer of a stack that has been checked: what reuse_verdict and study_cache share.
#pragma once

#include <cstddef>

#include "posenc/cache/reuse.h"
#include "reuse/reader.h"

namespace posenc::reuse {

// Throws Error for a stack that is not there, that is not known, or whose rotations do not pass check().
std::size_t checked_stack(const Plan& plan, const std::optional<std::string>& name);

bool caches(const LayerPlan& layer);

// `reader`: of `share`, else null.
ReuseVerdict verdict_of(const Plan& plan, std::size_t stack, std::size_t layer, CacheOperation operation,
                        StoredKeys keys, const Reader* reader);

}  // namespace posenc::reuse
