// Indexers: a small attention of its own in a layer, which picks the keys that the layer attends to. Its queries and
// its one key head rotate too (DeepSeek-V3.2, arXiv 2512.02556).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct Indexer {
  Sourced<std::int64_t> heads;
  Sourced<std::int64_t> head_dim;
  Sourced<Pairing> pairing;
  std::optional<Place> head_dim_place;
};

// Marks the layers whose keys are chosen (LayerTraits::choice). Nothing where the family has no indexer.
std::optional<Indexer> read_indexer(ConfigScope& scope, LayerPattern& pattern);

// The layer's main rotation laid over the indexer's heads: same width, base, rule and axes. `sources`: those of the
// main rotation, without their place.
struct IndexerRotation {
  std::optional<Rotate> rotate;
  std::vector<FieldSource> sources;
};
IndexerRotation indexer_rotation(ConfigScope& scope, const Indexer& indexer, const Rope& main,
                                 const std::vector<FieldSource>& sources);

}  // namespace posenc::plan
