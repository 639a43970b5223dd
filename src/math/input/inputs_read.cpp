// Which layers read which optional inputs of a call: segments (XLNet, arXiv 1906.08237), forget gates (FoX, arXiv
// 2503.02130), gates of rows (WavLM's T5 bias). check_left_out.cpp refuses the others.
#include "math/input/inputs_read.h"

#include <algorithm>
#include <variant>

namespace posenc::math {

bool reads_segments(std::span<const ScoreWeights> weights) {
  return std::ranges::any_of(weights, [](const ScoreWeights& one) {
    const auto* xlnet = std::get_if<XlNetWeights>(&one);
    return xlnet != nullptr && !(xlnet->segments.empty() && xlnet->segment_bias.empty());
  });
}

bool reads_log_forget(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score,
                             [](const ScoreTerm& term) { return std::holds_alternative<ForgetGate>(term); });
}

bool reads_row_gate(const LayerPlan& layer) {
  return std::ranges::any_of(layer.score, [](const ScoreTerm& term) {
    const auto* t5 = std::get_if<T5Bias>(&term);
    return t5 != nullptr && t5->gated;
  });
}

}  // namespace posenc::math
