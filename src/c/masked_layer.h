// The layer of a call of attention from C: as the plan has it, or a copy with another attention mask.
// Plans never change in C, so a call that needs another mask (bidirectional over a prompt, a shorter sliding window)
// brings it along; all else of a layer is the plan's.
#pragma once

#include "c/handles.h"
#include "c/status.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::c {

// Throws Error for a kind that is none.
Mask mask_of(const char* where, const posenc_mask& given);

// Of args with plan, stack, layer and mask. Where there is a mask, `changed` holds the layer.
template <typename Args>
const LayerPlan& masked_layer(const char* where, const Args& args, LayerPlan& changed) {
  const LayerPlan& layer = layer_of(where, required(where, "plan", args.plan), args.stack, args.layer);
  // A reference into the plan: no copy in the usual case. The handle outlives the call.
  if (args.mask == nullptr) return layer;
  changed = layer;
  changed.mask = mask_of(where, sized(where, "mask", args.mask));
  return changed;
}

// Of args with a prepared layer, which has all of this already: given again, it might be another's.
template <typename Args>
void require_no_layer(const char* where, const Args& args) {
  const auto require_none = [where](const char* field, bool is_given) {
    if (is_given) throw Error(where, {field, "be omitted, since the prepared layer has its own", "given"});
  };
  require_none("plan", args.plan != nullptr);
  require_none("stack", args.stack != nullptr);
  require_none("layer", args.layer != 0);
  require_none("mask", args.mask != nullptr);
  require_none("weights", args.weights_count != 0);
}

}  // namespace posenc::c
