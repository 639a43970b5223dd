// Weights and inputs that the layer does not read must be omitted: whoever gives them means another layer, and a
// silently ignored ALiBi table or sink would be a wrong result.
#include <variant>

#include "base/formatted.h"
#include "math/check/check_attend.h"
#include "math/input/inputs_read.h"

namespace posenc::math {
namespace {

void require_left_out(const char* field, bool is_given, const char* unread_since) {
  if (is_given) refuse(field, formatted("be omitted, since {}", unread_since), "given");
}

}  // namespace

void check_weights_left_out(const LayerPlan& layer, const LayerWeights& weights) {
  if (!layer.sinks) require_left_out("sinks", !weights.sinks.empty(), "the layer has no sinks");
  if (!std::holds_alternative<ShawValues>(layer.value)) {
    require_left_out("weights.value", !weights.value.table.empty(), "no scheme of the layer's values reads it");
  }
}

// Positions and orders are not among them: a layer without a scheme (NoPE) may be given both, as its neighbours are.
void check_inputs_left_out(const LayerPlan& layer, const AttendArgs& args) {
  const LayerInputs& in = args.inputs;
  if (layer.mask.kind != MaskKind::prefix) require_left_out("prefix", in.prefix > 0, "the layer's mask has none");
  if (!reads_segments(args.weights.score)) {
    constexpr auto kUnread = "no term of the layer has weights for segments";
    require_left_out("q_segments", !in.q_segments.empty(), kUnread);
    require_left_out("k_segments", !in.k_segments.empty(), kUnread);
  }
  if (!reads_log_forget(layer)) require_left_out("log_forget", !in.log_forget.empty(), "the layer has no forget gate");
  if (!reads_row_gate(layer)) {
    require_left_out("row_gate", !in.row_gate.empty(), "the layer has no bias with a gate for each row");
  }
}

}  // namespace posenc::math
