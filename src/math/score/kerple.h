// The derivatives of KERPLE's bias, arXiv 2205.09921 (posenc/scores.h, kerple_bias), beside it in distance_bias.cpp.
#pragma once

#include "posenc/schemes.h"

namespace posenc::math {

struct KerpleDerivatives {
  double r1;
  double r2;
};

// d bias / d r1 and d bias / d r2 at the distance d = i - j, for r1 and r2 that kerple_bias accepts:
//
//   logarithmic   -ln(1 + r2 |d|)   -r1 |d| / (1 + r2 |d|)
//   power         -|d|^r2           -r1 |d|^r2 ln |d|          the latter 0 at d = 0, where the bias is 0 for any r2 >
//   0
KerpleDerivatives kerple_derivatives(const Kerple& scheme, double r1, double r2, double distance);

}  // namespace posenc::math
