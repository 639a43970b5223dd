// What a config says about the scores: their scale, cap, and the norm of q and k.
#pragma once

#include <cstdint>
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

// Whether each layer divides it by its index + 1 besides (GPT-2's scale_attn_by_inverse_layer_idx).
Sourced<bool> read_division_by_layer(ConfigScope& scope);

}  // namespace posenc::plan
