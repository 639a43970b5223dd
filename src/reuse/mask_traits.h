// What the words of a mask say to a cache: its kind, window and chunk are data, its detail is a text.
#pragma once

#include <cstdint>
#include <optional>

#include "posenc/plan.h"

namespace posenc::reuse {

struct MaskTraits {
  // Tokens before its own that a key or value is made of; nothing: some, how many the plan does not say.
  std::optional<std::int64_t> made_of = 0;
  bool bounded = true;     // what is seen, and made of, ends with the window or the chunk
  bool by_place = false;   // which keys are seen depends on where blocks or chunks of the sequence begin
  bool by_index = false;   // an indexer picks keys
  bool keeps_all = false;  // some keys outside the window are seen: none leaves the cache
};

MaskTraits mask_traits(const LayerPlan& layer);

}  // namespace posenc::reuse
