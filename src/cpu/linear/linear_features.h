// What both passes of linear attention make of a call of attend: the feature map as kernels have it, and angles without
// an attention factor.
#pragma once

#include "cpu/attend/attend_call.h"
#include "posenc/feature_map.h"

namespace posenc::cpu {

inline kernels::Feature feature_of(FeatureMap map) {
  switch (map) {
    case FeatureMap::elu_plus_one: return kernels::Feature::elu_plus_one;
    case FeatureMap::identity: return kernels::Feature::identity;
    case FeatureMap::relu: return kernels::Feature::relu;
  }
  return kernels::Feature::identity;
}

// The attention factor would change the numerator alone.
inline void leave_out_factors(AttendCall& call) {
  for (CallRotation& rotation : call.rotations) {
    rotation.angles = AngleRule(rotation.rule->inv_freq, rotation.rule->axis_of_pair, 1.0, call.args.angles);
  }
}

}  // namespace posenc::cpu
