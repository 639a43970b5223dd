#include "vectors/stages.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "posenc/reference.h"
#include "posenc/reference_attend.h"
#include "vectors/tensor_views.h"

namespace posenc::inline v0_2::golden {

bool rotates_alone(const LayerPlan& layer) { return std::holds_alternative<std::monostate>(layer.regions); }

std::vector<Turning> turnings_of(const LayerPlan& layer, const VectorCall& call, std::int64_t tokens) {
  std::vector<Turning> out;
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role != RotateRole::main) continue;
    const Rope& one = rope(rotate);
    Turning turning{&rotate, frequencies(one, call.inputs.length), {}};
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t p = 0; p < one.pairs(); ++p) {
        const std::int64_t axis = one.axes.of_pair.empty() ? 0 : one.axes.of_pair[at(p)];
        turning.coordinates.push_back(static_cast<double>(call.positions[at(axis * tokens + t)] + rotate.offset));
      }
    }
    out.push_back(std::move(turning));
  }
  return out;
}

// The reference takes one coordinate for each axis of the rope; those that its pairs have are in `coordinates`.
std::vector<double> rotated(const std::vector<Turning>& turnings, const ConstTensorView& x,
                            std::optional<std::int64_t> length) {
  const std::int64_t tokens = x.shape[0];
  const auto* const from = static_cast<const double*>(x.data);
  std::vector<double> values(from, from + tokens * x.shape[1] * x.shape[2]);
  for (const Turning& turning : turnings) {
    const Rope& one = rope(*turning.rotate);
    const std::int64_t pairs = one.pairs();
    std::vector<double> positions;
    for (std::int64_t axis = 0; axis < std::ssize(one.axes.names); ++axis) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        double place = 0.0;
        for (std::int64_t p = 0; p < pairs; ++p) {
          const std::int64_t own = one.axes.of_pair.empty() ? 0 : one.axes.of_pair[at(p)];
          if (own == axis) place = turning.coordinates[at(t * pairs + p)];
        }
        positions.push_back(place);
      }
    }
    const std::vector<double> before = values;
    (void)reference::rotate(one, {.out = tensor(values.data(), {tokens, x.shape[1], x.shape[2]}),
                                  .x = tensor(before.data(), {tokens, x.shape[1], x.shape[2]}),
                                  .positions = std::span<const double>(positions),
                                  .length = length});
  }
  return values;
}

// The reference runs once for each stage, and writes the output each time, the same.
ScoreStages score_stages(const LayerPlan& layer, const VectorCall& call) {
  const std::int64_t tokens = call.q.shape[0];
  ScoreStages out;
  out.out.resize(at(tokens * layer.heads * layer.value_dim));
  reference::AttendArgs args{.out = tensor(out.out.data(), {tokens, layer.heads, layer.value_dim}),
                             .q = call.q,
                             .k = call.k,
                             .v = call.v,
                             .weights = call.weights,
                             .inputs = call.inputs};
  // Rotated once, and not for each query and key again. Terms of q and k take them as they are given.
  std::vector<double> q;
  std::vector<double> k;
  if (rotates_alone(layer) && layer.score.empty()) {
    const std::vector<Turning> turnings = turnings_of(layer, call, tokens);
    q = rotated(turnings, call.q, call.inputs.length);
    k = rotated(turnings, call.k, call.inputs.length);
    args.q.data = q.data();
    args.k.data = k.data();
    args.inputs.q_rotated = args.inputs.k_rotated = true;
  }
  const auto run = [&](reference::ScoreStage stage, std::vector<double>& scores) {
    scores.resize(at(layer.heads * tokens * tokens));
    args.stage = stage;
    args.scores = tensor(scores.data(), {layer.heads, tokens, tokens});
    (void)reference::attend(layer, args);
  };
  run(reference::ScoreStage::content, out.content);
  run(reference::ScoreStage::biased, out.biased);
  run(reference::ScoreStage::weights, out.weights);
  const bool is_capped = layer.soft_cap && layer.soft_cap->order == SoftCap::Order::after_bias;
  if (is_capped) run(reference::ScoreStage::capped, out.final_scores);
  if (!is_capped) out.final_scores = out.biased;
  return out;
}

}  // namespace posenc::inline v0_2::golden
