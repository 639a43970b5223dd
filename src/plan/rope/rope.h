// The rotation of the layers of one type, as the config and the family's rules say it, and what a config says beside
// it; each in a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/facts/layer_pattern.h"
#include "plan/rope/keys.h"
#include "posenc/plan.h"

namespace posenc::plan {

// ---- draft.cpp: the whole of it ----

struct RopeDraft {
  std::optional<Rope> rope;  // nothing: no channel rotates, or an error
  std::vector<FieldSource> sources;
  std::string still_from;  // why no channel rotates
};

// `layers`: how many layers there are in all, for the limit on lists.
RopeDraft read_rope(RopeDicts& dicts, const LayerTraits& layer, const AttentionShape& shape,
                    const Sourced<std::int64_t>& trained_length, std::int64_t layers);

// ---- rules.cpp: the scaling rules by the names under which config files ask for them ----

// "su" and, in Phi-3's first files, "yarn" are LongRoPE; "mrope" is the default rule. Nothing, and an error,
// for a name that is not known.
std::optional<std::string_view> read_rope_type(RopeKeys& keys);

// The parameters of that rule for a rotation of `dim` channels, with warnings of what is odd about them.
Scaling read_scaling(RopeKeys& keys, std::string_view rope_type, std::int64_t dim);

// ---- axes.cpp ----
// Which coordinate of a token rotates which pair (M-RoPE): mrope_section counts the pairs of each axis.

// For a rotation of `dim` channels, by Family::axes; the one axis t where the family has no such rule.
AxisMap read_axes(RopeKeys& keys, std::int64_t dim);

// ---- lists.cpp ----
// Rotations that are given layer by layer: rope_theta and partial_rotary_factors as lists (Step 3.5).

// Says of each layer which is the first that has the same entries (LayerTraits::list_entry).
void read_rope_lists(ConfigScope& scope, LayerPattern& pattern);

// Where `place` holds a list with one entry a layer, the one of `layer`, with the list as its source; else `place`.
std::optional<Place> entry_of_layer(ConfigScope& scope, const Place& place, std::int64_t layer, std::int64_t layers);

// ---- query_scale.cpp: how a config says that queries are scaled by their position ----

// By Family::query_scaling; which layers it is for is said there.
Sourced<QueryScale> read_query_scale(RopeDicts& dicts, const Sourced<std::int64_t>& trained_length);

// ---- regions.cpp ----
// Where a config makes the rotation's positions depend on how far the key is: dual chunk attention (arXiv 2402.17463),
// which Qwen2.5-1M has. What it does stands in posenc/schemes.h.

struct ReadRegions {
  Regions regions{};
  std::string from;
};

// Of a family whose models have dual_chunk_attention_config; none elsewhere, and where the file has no such key.
ReadRegions read_regions(ConfigScope& scope);

// Where a layer has both: vLLM's DualChunkRotaryEmbedding rotates by the plain frequencies, whatever rule stands beside
// it.
void warn_of_scaled_chunks(ConfigScope& scope, const ReadRegions& regions, const std::vector<LayerPlan>& layers);

}  // namespace posenc::plan
