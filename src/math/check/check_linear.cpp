// What a layer must not have for linear attention: everything that is defined on a score, as there are none (biases,
// soft cap, sinks, a query scale, regions), and xPos. RoFormer, arXiv 2104.09864, (19);
// docs/schemes/linear-attention.md.
#include "math/check/check_linear.h"

#include <algorithm>
#include <variant>

#include "math/check/check_attend.h"

namespace posenc::math {

void refuse_softmax_terms(const LayerPlan& layer, const LayerInputs& inputs) {
  const bool has_xpos =
      std::ranges::any_of(layer.rotate, [](const Rotate& one) { return std::holds_alternative<XPos>(one.scheme); });
  const auto require_none = [](bool none, const char* field) {
    if (!none) refuse(field, "be omitted in linear attention", "given");
  };
  require_none(layer.score.empty(), "layer.score");
  require_none(std::holds_alternative<std::monostate>(layer.value), "layer.value");
  require_none(std::holds_alternative<std::monostate>(layer.query_scale), "layer.query_scale");
  require_none(std::holds_alternative<std::monostate>(layer.regions), "layer.regions");
  require_none(!layer.soft_cap, "layer.soft_cap");
  require_none(!layer.sinks, "layer.sinks");
  require_none(!has_xpos, "layer.rotate: xPos");
  require_none(inputs.bias.empty(), "bias");
  require_none(!inputs.q_rotated && !inputs.k_rotated, "q_rotated, k_rotated");
}

// A plan's linear layers have a kind of their own, which check_layer refuses.
LayerPlan attending(const LayerPlan& layer) {
  LayerPlan out = layer;
  if (out.kind == LayerKind::linear_attention) out.kind = LayerKind::attention;
  return out;
}

}  // namespace posenc::math
