// What Reformer's two kinds of layers see (arXiv 2001.04451): a chunk of the sequence, or of the sequence sorted by
// hash, and its neighbours.
#pragma once

#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// `type` is nearby_chunks or hashed_chunks.
Sourced<Mask> read_chunk_mask(ConfigScope& scope, LayerType type, bool causal);

}  // namespace posenc::plan
