// The layer of a call of attention from C: as the plan has it, or a copy with another attention mask.
// Plans never change in C, so a call that needs another mask (bidirectional over a prompt, a shorter sliding window)
// brings it along; all else of a layer is the plan's.
#pragma once

#include "c/handles.h"
#include "c/status.h"
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

}  // namespace posenc::c
