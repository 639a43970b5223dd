// What a layer sees that no window can say: keys that an indexer picks, keys made of several tokens, a prompt that
// stays visible, images whose tokens see each other.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/facts/layer_facts.h"
#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// How many keys are chosen, and in what units.
struct Selection {
  Sourced<std::int64_t> kept;
  std::int64_t block = 1;       // keys of a block; 1: single keys
  std::int64_t own_blocks = 0;  // that are kept in any case
};
Selection read_selection(ConfigScope& scope);

// Turns a layer's mask into what this layer sees, and says where that came from.
void refine_mask(ConfigScope& scope, const LayerPattern& pattern, const Selection& selection, const LayerTraits& layer,
                 LayerFacts& facts);

// ---- blocks of keys by a fixed pattern: Phi-3-small's, and DeepSpeed's "fixed" one (ruGPT-3 XL) ----

// By Family::block_sparse: LayerTraits::block_sparse of those layers, and what they see.
void read_block_sparse(ConfigScope& scope, LayerPattern& pattern);

// ---- keys of an attention that sees chosen keys only; some files have them in an object of their own
// (sparse_attention_config), which comes before what stands beside it ----

std::optional<Place> find_sparse(ConfigScope& scope, const Key& key);
Sourced<std::int64_t> required_sparse(ConfigScope& scope, const Key& key, Bounds bounds);

}  // namespace posenc::plan
