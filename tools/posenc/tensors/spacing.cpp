// The distance between neighbouring numbers of a dtype (ulp), by which errors are bounded, and its largest number.
#include "tensors/spacing.h"

#include <algorithm>
#include <cmath>

namespace posenc::tool {
namespace {

// Bits of the significand, the implied one counted; the exponent of the smallest subnormal.
struct Format {
  int digits;
  int lowest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {11, -24};
    case DType::bf16: return {8, -133};
    case DType::f32: return {24, -149};
    case DType::f64: break;
  }
  return {53, -1074};
}

}  // namespace

// Numbers in [2^e, 2^(e + 1)) are 2^(e + 1 - digits) apart, and nowhere closer than the subnormals are.
double ulp(DType dtype, double x) {
  const Format format = format_of(dtype);
  if (x == 0.0) return std::ldexp(1.0, format.lowest);
  return std::ldexp(1.0, std::max(std::ilogb(x) + 1 - format.digits, format.lowest));
}

// They differ at powers of two only: the numbers below are twice as close.
double ulp_below(DType dtype, double x) { return ulp(dtype, std::nextafter(x, 0.0)); }

}  // namespace posenc::tool
