// The facts of one kind of layer of a text stack, from what the config says of the stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/facts/attention_shape.h"
#include "plan/facts/layer_facts.h"
#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/layers/indexer.h"
#include "plan/layers/layer_masks.h"
#include "plan/layers/layer_scores.h"
#include "plan/layers/score_terms.h"
#include "plan/layers/sparse_masks.h"
#include "plan/rope/dicts.h"
#include "plan/rope/regions.h"
#include "plan/rope/scheme_choice.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct TextFacts {
  std::vector<AttentionShape> shapes;
  LayerPattern pattern;
  LayerScores scores;
  LayerMasks masks;
  ScoreTerms terms;
  std::optional<Indexer> indexer;
  Selection selection;
  Sourced<std::int64_t> trained_length;
  SchemeChoice scheme;
  Sourced<QueryScale> query_scale;
  ReadRegions regions;
};

// Layers of the same traits have the same facts. After an error (scope.reader().failed()) the result is void.
LayerFacts read_text_layer(ConfigScope& scope, RopeDicts& dicts, const TextFacts& stack, const LayerTraits& traits);

// The second attention of a block, which sees all of another stack's output: the first one's heads and scale, no
// rotation, no score term. `from`: what says that there is one.
LayerFacts cross_attention_beside(LayerFacts& self, const std::string& from);

}  // namespace posenc::plan
