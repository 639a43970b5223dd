// What a call of the reference must keep to besides math/check/check_attend.h: it writes doubles, and numbers that a
// formula refuses are met before the first row is written.
#pragma once

#include "math/check/check_attend.h"
#include "posenc/reference.h"
#include "posenc/scores.h"

namespace posenc::inline v0_2::reference {

inline void check_kerple(const LayerPlan& layer, const AttendArgs& args) {
  for (std::size_t n = 0; n < layer.score.size(); ++n) {
    const auto* const scheme = std::get_if<Kerple>(&layer.score[n]);
    if (scheme == nullptr) continue;
    const auto& learned = std::get<KerpleWeights>(args.weights.score[n]);
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      (void)kerple_bias(*scheme, element(learned.r1, {h}), element(learned.r2, {h}), 0.0);
    }
  }
}

inline void check_double(const LayerPlan& layer, const AttendArgs& args) {
  math::check_attend(layer, args);
  check_kerple(layer, args);
  for (const TensorView& written : {args.out, args.lse, args.scores}) {
    if (!written.empty() && written.dtype != DType::f64) {
      math::refuse("out, lse and scores", "be f64", std::string(name(written.dtype)));
    }
  }
}

}  // namespace posenc::inline v0_2::reference
