#include "posenc/plan.h"

#include "plan/plan_json.h"

namespace posenc {

const Rope& rope(const Rotate& rotate) noexcept {
  const XPos* xpos = std::get_if<XPos>(&rotate.scheme);
  return xpos != nullptr ? xpos->rope : *std::get_if<Rope>(&rotate.scheme);
}

namespace plan {

bool has_index_and_kind_only(const LayerPlan& layer) {
  if (must_attend(layer.kind)) return false;
  LayerPlan bare;
  bare.index = layer.index;
  bare.kind = layer.kind;
  return layer == bare;
}

}  // namespace plan
}  // namespace posenc
