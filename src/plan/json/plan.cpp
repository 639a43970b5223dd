#include "posenc/plan.h"

#include "plan/json/plan_json.h"

namespace posenc::plan {

bool has_index_and_kind_only(const LayerPlan& layer) {
  if (must_attend(layer.kind)) return false;
  LayerPlan bare;
  bare.index = layer.index;
  bare.kind = layer.kind;
  return layer == bare;
}

}  // namespace posenc::plan
