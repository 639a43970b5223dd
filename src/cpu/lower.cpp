#include "cpu/lower.h"

#include <utility>

#include "cpu/lowering.h"
#include "cpu/weight_reader.h"
#include "posenc/query_scale.h"

namespace posenc::cpu {
namespace {

// scale tau_i. Without a scheme positions may be anything.
std::vector<double> row_scale(const LayerPlan& layer, const std::vector<double>& positions) {
  std::vector<double> out(positions.size(), layer.logit_scale);
  if (std::holds_alternative<std::monostate>(layer.query_scale)) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] *= query_scale(layer.query_scale, static_cast<std::int64_t>(positions[i]));
  }
  return out;
}

}  // namespace

math::Lowered lower(const LayerPlan& layer, const LayerWeights& weights, const LayerInputs& inputs,
                    const math::CallSizes& sizes) {
  static const ScoreWeights kNone;
  Lowering lowering{.layer = layer,
                    .weights = weights,
                    .inputs = inputs,
                    .sizes = sizes,
                    .rows = math::call_rows(layer, inputs, sizes),
                    .out = {.heads = layer.heads, .head_dim = layer.head_dim, .value_dim = layer.value_dim}};
  math::Lowered& out = lowering.out;
  out.q_rows = lowering.rows.queries;
  out.k_rows = lowering.rows.keys;
  out.coordinates = std::move(lowering.rows.axes);
  out.row_scale = row_scale(layer, out.coordinates.front().q);
  lower_rotations(lowering);
  std::visit([&](const auto& scheme) { lower_regions(scheme, lowering); }, layer.regions);
  for (std::size_t t = 0; t < layer.score.size(); ++t) {
    const ScoreWeights& given = weights.score.empty() ? kNone : weights.score[t];
    std::visit([&](const auto& scheme) { lower_term(scheme, given, lowering); }, layer.score[t]);
  }
  std::visit([&](const auto& scheme) { lower_values(scheme, lowering); }, layer.value);
  return std::move(out);
}

}  // namespace posenc::cpu
