// lower(): a layer's rotations, regions, score terms and value scheme become primitives (math/primitives.h), each by
// its overload; softmax scale and query scale become one factor for each row.
#include "cpu/lower/lower.h"

#include <utility>

#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"
#include "posenc/scores.h"

namespace posenc::cpu {
namespace {

// scale tau_i. Without a scheme positions may be anything.
std::vector<double> row_scale(const LayerPlan& layer, const std::vector<double>& positions) {
  std::vector<double> out(positions.size(), layer.softmax_scale);
  if (std::holds_alternative<std::monostate>(layer.query_scale)) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] *= query_scale(layer.query_scale, static_cast<std::int64_t>(positions[i]));
  }
  return out;
}

// In the plan's order; one scheme may become several terms (Transformer-XL: SineDistance and KeyVector).
void lower_score(Lowering& lowering) {
  static const ScoreWeights kNone;
  const std::vector<ScoreWeights>& all = lowering.weights.score;
  for (std::size_t t = 0; t < lowering.layer.score.size(); ++t) {
    const ScoreWeights& given = all.empty() ? kNone : all[t];
    lowering.out.first_term.push_back(lowering.out.terms.size());
    std::visit([&](const auto& scheme) { lower_term(scheme, given, lowering); }, lowering.layer.score[t]);
  }
}

}  // namespace

// Regions and terms read the call's coordinates, so these are in their place first; GridBias and XLNet add their own.
math::Lowered lower(const LayerPlan& layer, const LayerWeights& weights, const LayerInputs& inputs,
                    const math::CallSizes& sizes) {
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
  lower_score(lowering);
  std::visit([&](const auto& scheme) { lower_values(scheme, lowering); }, layer.value);
  return std::move(out);
}

// As lower(), of a call without tokens: what belongs to rows is empty.
std::vector<math::Term> lower_terms(const LayerPlan& layer, const LayerWeights& weights, DistanceRange within) {
  const LayerInputs inputs;
  const math::CallSizes sizes;
  Lowering lowering{.layer = layer,
                    .weights = weights,
                    .inputs = inputs,
                    .sizes = sizes,
                    .rows = math::call_rows(layer, inputs, sizes),
                    .out = {.heads = layer.heads, .head_dim = layer.head_dim, .value_dim = layer.value_dim},
                    .within = within};
  lowering.out.coordinates = std::move(lowering.rows.axes);
  lower_score(lowering);
  return std::move(lowering.out.terms);
}

}  // namespace posenc::cpu
