// What a config says about the scores: their scale, cap, and the norm of q and k.
#pragma once

#include <optional>
#include <string>

#include "plan/attention_shape.h"
#include "plan/config_scope.h"
#include "plan/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct LayerScores {
  Sourced<double> scale;  // without YaRN's part of it (softmax_multiplier), which belongs to a rotation
  Setting<double> soft_cap;
  std::optional<QkNorm> qk_norm;
  std::string qk_norm_from;
};

LayerScores read_layer_scores(ConfigScope& scope, const AttentionShape& shape);

}  // namespace posenc::plan
