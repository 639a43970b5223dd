// How a config says that queries are scaled by their position.
#pragma once

#include <cstdint>

#include "plan/facts/sourced.h"
#include "plan/rope/dicts.h"
#include "posenc/schemes.h"

namespace posenc::plan {

// By Family::query_scaling; which layers it is for is said there.
Sourced<QueryScale> read_query_scale(RopeDicts& dicts, const Sourced<std::int64_t>& trained_length);

}  // namespace posenc::plan
