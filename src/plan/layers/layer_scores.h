// What a config says about the scores: their scale, cap, and the norm of q and k.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/facts/attention_shape.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct LayerScores {
  std::vector<Sourced<double>>
      scales;  // [shapes], without YaRN's part of it (softmax_multiplier), which belongs to a rotation
  Setting<double> soft_cap;
  std::optional<QkNorm> qk_norm;
  std::string qk_norm_from;
};

// `shapes`: those of the stack (layer_sizes). `parts`: score terms that share the scale (ScoreTerms::parts).
LayerScores read_layer_scores(ConfigScope& scope, const std::vector<AttentionShape>& shapes,
                              const Sourced<std::int64_t>& parts);

}  // namespace posenc::plan
