// What the tokens of a layer may see: the mask of full layers and of sliding ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// The window of layers that say their own width.
struct OwnWindow {
  std::int64_t width = 0;
  std::optional<Window> window;
};

struct LayerMasks {
  Sourced<MaskKind> kind{MaskKind::causal, {}};
  std::string detail;            // of sparse and prefix masks
  bool rotated_causal = false;   // by a key: the stack is a decoder then
  std::optional<Window> window;  // of sliding layers
  std::string window_from;
  std::vector<OwnWindow> own_windows;
  Sourced<Mask> nearby;  // of Reformer's layers
  Sourced<Mask> hashed;
  Sourced<std::string> sliding_detail;  // what sliding layers see besides
};

// Of a sliding layer, by LayerTraits::width.
std::optional<Window> window_of(const LayerMasks& masks, std::int64_t width);

// A window that covers the trained length is none, with a warning.
LayerMasks read_layer_masks(ConfigScope& scope, const LayerPattern& pattern,
                            const Sourced<std::int64_t>& trained_length);

}  // namespace posenc::plan
