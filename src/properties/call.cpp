// A specimen's call of reference::attend: positions on a line or in a square, orders for masks, gates, and the scores
// or outputs that properties are measured on.
#include "properties/call.h"

#include <algorithm>

#include "math/input/inputs_read.h"
#include "math/layer_axes.h"
#include "posenc/reference_attend.h"

namespace posenc::properties {
namespace {

// [axes, rows]: a line's tokens have their place on every axis. In a square the last two are row and column, those
// before stand still, and a scheme of one axis is given the row.
std::vector<std::int64_t> positions_of(const Specimen& specimen, const std::vector<std::int64_t>& places) {
  const std::int64_t axes = math::axes_of(specimen.layer);
  const bool in_line = specimen.layout == Layout::line && !specimen.size.on_square;
  const std::int64_t side = specimen.size.side();
  std::vector<std::int64_t> out;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    for (const std::int64_t place : places) {
      const bool is_column = axis > 0 && axis == axes - 1;
      const bool is_row = axis == std::max<std::int64_t>(axes - 2, 0);
      out.push_back(in_line ? place : is_column ? place % side : is_row ? place / side : 0);
    }
  }
  return out;
}

// A square has no order.
std::vector<std::int64_t> order_of(const Specimen& specimen, const std::vector<std::int64_t>& places) {
  return specimen.size.on_square ? std::vector<std::int64_t>(places.size(), 0) : places;
}

// [rows, heads] of gates; nothing where the call has none.
ConstTensorView matrix(const std::vector<double>& values, std::size_t rows) {
  if (values.empty()) return {};
  return tensor(values.data(), {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(values.size() / rows)});
}

}  // namespace

// The length reaches to the last place, for rules that depend on it (dynamic NTK, LongRoPE). Segments and gates are
// given only to schemes that read them: others refuse them.
CallInputs::CallInputs(const Specimen& specimen, const Call& call)
    : q_positions_(positions_of(specimen, call.q_places)),
      k_positions_(positions_of(specimen, call.k_places)),
      q_order_(order_of(specimen, call.q_places)),
      k_order_(order_of(specimen, call.k_places)),
      segments_(std::max(call.q_places.size(), call.k_places.size()), 0),
      inputs_{.q_positions = std::span(q_positions_),
              .k_positions = std::span(k_positions_),
              .q_order = q_order_,
              .k_order = k_order_,
              .length = 1 + std::max(*std::max_element(call.q_places.begin(), call.q_places.end()),
                                     *std::max_element(call.k_places.begin(), call.k_places.end()))} {
  if (math::reads_segments(specimen.weights.score)) {
    inputs_.q_segments = std::span(segments_).first(call.q_places.size());
    inputs_.k_segments = std::span(segments_).first(call.k_places.size());
  }
  if (math::reads_log_forget(specimen.layer)) inputs_.log_forget = matrix(call.log_forget, call.k_places.size());
  if (math::reads_row_gate(specimen.layer)) inputs_.row_gate = matrix(call.row_gate, call.q_places.size());
}

// The result of reference::attend is not asked: without keep_going it is always true.
// The scores asked for are the biased ones, y before any cap and sink: plain_layer() has neither.
Answer attend(const Specimen& specimen, const Call& call) {
  LayerPlan layer = specimen.layer;
  layer.mask.kind = call.mask;
  const std::int64_t queries = call.q.count();
  const std::int64_t keys = call.k.count();
  const auto heads_of = [&](const Rows& rows) {
    return tensor(rows.values.data(), {rows.count(), layer.heads, rows.width / layer.heads});
  };
  const CallInputs inputs(specimen, call);
  Answer out{std::vector<double>(static_cast<std::size_t>(layer.heads * queries * keys)),
             {layer.heads * layer.value_dim,
              std::vector<double>(static_cast<std::size_t>(queries * layer.heads * layer.value_dim))}};
  (void)reference::attend(layer, {.out = tensor(out.out.values.data(), {queries, layer.heads, layer.value_dim}),
                                  .q = heads_of(call.q),
                                  .k = heads_of(call.k),
                                  .v = heads_of(call.v),
                                  .weights = specimen.weights,
                                  .inputs = *inputs,
                                  .scores = tensor(out.scores.data(), {layer.heads, queries, keys}),
                                  .stage = reference::ScoreStage::biased});
  return out;
}

}  // namespace posenc::properties
