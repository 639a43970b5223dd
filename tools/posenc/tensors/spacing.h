// How far apart the numbers of a dtype are.
#pragma once

#include "posenc/tensor.h"

namespace posenc::tool {

// Units in the last place: the spacing of a dtype's numbers from |x| on upwards, and below |x|.
double ulp(DType dtype, double x);
double ulp_below(DType dtype, double x);

}  // namespace posenc::tool
