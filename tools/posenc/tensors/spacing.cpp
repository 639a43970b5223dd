#include "tensors/spacing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace posenc::tool {
namespace {

// Bits of the significand, and the exponent of the smallest subnormal.
struct Format {
  int digits;
  int lowest;
  double largest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {11, -24, 65504.0};
    case DType::bf16: return {8, -133, 0x1.FEp127};
    case DType::f32: return {24, -149, 0x1.FFFFFEp127};
    case DType::f64: break;
  }
  return {53, -1074, std::numeric_limits<double>::max()};
}

}  // namespace

double ulp(DType dtype, double x) {
  const Format format = format_of(dtype);
  if (x == 0.0) return std::ldexp(1.0, format.lowest);
  return std::ldexp(1.0, std::max(std::ilogb(x) + 1 - format.digits, format.lowest));
}

double ulp_below(DType dtype, double x) { return ulp(dtype, std::nextafter(x, 0.0)); }

double largest(DType dtype) { return format_of(dtype).largest; }

}  // namespace posenc::tool
