// What the tokens of a layer may see: the mask of full layers and of sliding ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/config_scope.h"
#include "plan/layer_pattern.h"
#include "plan/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct LayerMasks {
  Sourced<MaskKind> kind{MaskKind::causal, {}};
  std::optional<Window> window;  // of sliding layers
  std::string window_from;
  Sourced<std::string> sliding_detail;  // what sliding layers see besides
};

// A window that covers the trained length is none, with a warning.
LayerMasks read_layer_masks(ConfigScope& scope, const LayerPattern& pattern,
                            const Sourced<std::int64_t>& trained_length);

}  // namespace posenc::plan
