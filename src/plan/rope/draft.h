// The rotation of the layers of one type, as the config and the family's rules say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/facts/attention_shape.h"
#include "plan/rope/dicts.h"
#include "plan/rope/keys.h"
#include "posenc/rope.h"

namespace posenc::plan {

struct RopeDraft {
  std::optional<Rope> rope;  // nothing: no channel rotates, or an error
  std::vector<FieldSource> sources;
  std::string still_from;  // why no channel rotates
};

// `layers`: how many layers there are in all, for the limit on lists.
RopeDraft read_rope(RopeDicts& dicts, const LayerTraits& layer, const AttentionShape& shape,
                    const Sourced<std::int64_t>& trained_length, std::int64_t layers);

}  // namespace posenc::plan
