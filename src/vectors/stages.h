// What the float64 reference makes of the inputs, stage by stage; and what the bounds need beside it.
#pragma once

#include <functional>
#include <vector>

#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

// One of a layer's main rotations, as it meets q and k, one after another.
struct Turning {
  const Rotate* rotate = nullptr;
  Frequencies frequencies;
  // Of each token and pair, with the rotation's offset. [tokens, pairs]
  std::vector<double> coordinates;
};
std::vector<Turning> turnings_of(const LayerPlan& layer, const VectorCall& call, std::int64_t tokens);

// [heads, queries, keys] of every stage of the scores that the bounds ask for.
struct ScoreStages {
  std::vector<double> content;
  std::vector<double> biased;
  std::vector<double> final_scores;  // what the softmax is made of; -inf: not seen
  std::vector<double> weights;
  std::vector<double> out;  // [tokens, heads, value_dim]
};

// Whether q and k rotate each by itself: with regions they rotate by pairs of tokens.
bool rotates_alone(const LayerPlan& layer);

// [tokens, heads, head_dim] of x, dense doubles, rotated by all of them.
std::vector<double> rotated(const std::vector<Turning>& turnings, const ConstTensorView& x,
                            std::optional<std::int64_t> length);

// Throws what reference::attend does.
ScoreStages score_stages(const LayerPlan& layer, const VectorCall& call);

}  // namespace posenc::inline v0_2::golden
