// Elements of learned tables as doubles, from f64, f32, f16 and bf16 with any strides, and products with them in
// double.
#include "cpu/lower/weight_reader.h"

#include <bit>
#include <cstring>

namespace posenc::cpu {
namespace {

template <typename T>
T stored(const ConstTensorView& view, std::int64_t offset) {
  T out;
  std::memcpy(&out, static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return out;
}

// Exponent and mantissa where a float has them, times 2^112, the difference of the two exponents' biases: numbers below
// the normal range come right too. 31 in the exponent, infinity and NaN, is 255 in a float.
float from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
  if (magnitude >= 0x0F800000U) return std::bit_cast<float>(sign | magnitude | 0x7F800000U);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F));
}

// A bfloat16 is the upper half of a float.
double read_at(const ConstTensorView& view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::f64: return stored<double>(view, offset);
    case DType::f32: return static_cast<double>(stored<float>(view, offset));
    case DType::f16: return static_cast<double>(from_half(stored<std::uint16_t>(view, offset)));
    case DType::bf16:
      return static_cast<double>(std::bit_cast<float>(std::uint32_t{stored<std::uint16_t>(view, offset)} << 16U));
  }
  return 0.0;
}

}  // namespace

double read(const ConstTensorView& view, std::initializer_list<std::int64_t> place) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < place.size(); ++axis) offset += place.begin()[axis] * view.strides[axis];
  return read_at(view, offset);
}

// The place is counted up like an odometer, so any rank and any strides will do.
std::vector<double> read_all(const ConstTensorView& view) {
  if (view.empty()) return {};
  std::vector<std::int64_t> place(index(view.rank), 0);
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < place.size(); ++axis) count *= view.shape[axis];
  std::vector<double> out(index(count));
  for (double& value : out) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) offset += place[axis] * view.strides[axis];
    value = read_at(view, offset);
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < view.shape[axis]) break;
      place[axis] = 0;
    }
  }
  return out;
}

std::vector<double> read_transposed(const ConstTensorView& view) {
  ConstTensorView rotated = view;
  std::swap(rotated.shape[0], rotated.shape[1]);
  std::swap(rotated.strides[0], rotated.strides[1]);
  return read_all(rotated);
}

Projection::Projection(const Linear& linear)
    : outputs_(linear.weight.shape[0]), columns_(read_transposed(linear.weight)), bias_(read_all(linear.bias)) {}

// Column by column: the outputs grow side by side.
std::vector<double> Projection::of(std::span<const double> x) const {
  std::vector<double> out = bias_;
  out.resize(index(outputs_));
  const double* column = columns_.data();
  for (const double by : x) {
    for (std::int64_t row = 0; row < outputs_; ++row) out[index(row)] += by * column[row];
    column += outputs_;
  }
  return out;
}

}  // namespace posenc::cpu
