// What a call of the reference must keep to besides math/check/check_attend.h: it writes doubles.
#pragma once

#include "math/check/check_attend.h"

namespace posenc::inline v0_2::reference {

inline void check_double(const LayerPlan& layer, const AttendArgs& args) {
  math::check_attend(layer, args);
  for (const TensorView& written : {args.out, args.lse, args.scores}) {
    if (!written.empty() && written.dtype != DType::f64) {
      math::refuse("out, lse and scores", "be f64", std::string(name(written.dtype)));
    }
  }
}

}  // namespace posenc::inline v0_2::reference
