// Elements of f64, f32, f16 and bf16 as doubles, by the definition of the formats (IEEE 754-2019, 3.4; bfloat16 is the
// upper half of a binary32), one at a time and without the conversions that the kernels use.
#include "reference/elements.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/formatted.h"
#include "posenc/error.h"
#include "posenc/reference.h"

namespace posenc::inline v0_2::reference {
namespace {

// A binary floating-point number of sign, exponent and mantissa, IEEE 754-2019, 3.4.
double from_bits(std::uint64_t bits, int exponent_bits, int mantissa_bits) {
  const auto mantissa = static_cast<double>(bits & ((std::uint64_t{1} << mantissa_bits) - 1));
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((std::uint64_t{1} << exponent_bits) - 1));
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1.0 : 1.0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == 2 * bias + 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

template <typename T>
T value_at(const void* data, std::int64_t offset) {
  T out;
  std::memcpy(&out, static_cast<const char*>(data) + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return out;
}

}  // namespace

// f16 has 5 bits of exponent and 10 of mantissa, bfloat16 8 and 7.
double read(const ConstTensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::f64: return value_at<double>(view.data, offset);
    case DType::f32: return value_at<float>(view.data, offset);
    case DType::f16: return from_bits(value_at<std::uint16_t>(view.data, offset), 5, 10);
    case DType::bf16: return from_bits(value_at<std::uint16_t>(view.data, offset), 8, 7);
  }
  return 0.0;
}

// Public (posenc/reference.h), so indices are checked; read() checks nothing.
double element(ConstTensorView view, std::initializer_list<std::int64_t> indices) {
  if (std::ssize(indices) != view.rank) {
    throw Error("element",
                {"indices", formatted("be as many as the rank, {},", view.rank), formatted("{} long", indices.size())});
  }
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::int64_t index = indices.begin()[axis];
    if (index < 0 || index >= view.shape[axis]) {
      throw Error("element", {formatted("indices[{}]", axis), formatted("be at least 0 and below {}", view.shape[axis]),
                              formatted("{}", index)});
    }
    offset += index * view.strides[axis];
  }
  return read(view, offset);
}

}  // namespace posenc::inline v0_2::reference
