// Views of tensors, posenc/tensor.h: row-major strides from a shape, two axes exchanged, names of dtypes.
//
//   stride[last] = 1,  stride[a] = stride[a + 1] * shape[a + 1]      every product checked against 2^63
#include "posenc/tensor.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "posenc/error.h"

namespace posenc::inline v0_2 {
namespace {

template <typename Pointer>
BasicTensorView<Pointer> contiguous(Pointer data, DType dtype, std::span<const std::int64_t> shape) {
  if (shape.size() > kMaxRank) {
    throw Error("tensor", {"shape", formatted("have at most {} axes", kMaxRank), formatted("{} long", shape.size())});
  }
  BasicTensorView<Pointer> out{data, dtype, static_cast<int>(shape.size()), {}, {}};
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t size = shape[axis];
    if (size < 0) {
      throw Error("tensor", {formatted("shape[{}]", axis), "be at least 0", formatted("{}", size)});
    }
    out.shape[axis] = size;
    out.strides[axis] = stride;
    const auto product = checked_multiply(static_cast<std::uint64_t>(stride),
                                          static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)));
    if (!product || *product > INT64_MAX) throw Error("tensor", {"shape", "have a product below 2^63", "larger"});
    stride = static_cast<std::int64_t>(*product);
  }
  return out;
}

template <typename Pointer>
BasicTensorView<Pointer> exchanged(BasicTensorView<Pointer> view, int axis, int other) {
  for (const int wanted : {axis, other}) {
    if (wanted < 0 || wanted >= view.rank) {
      throw Error("transposed",
                  {"axis", formatted("be at least 0 and below the rank, {},", view.rank), formatted("{}", wanted)});
    }
  }
  const auto a = static_cast<std::size_t>(axis);
  const auto b = static_cast<std::size_t>(other);
  std::swap(view.shape[a], view.shape[b]);
  std::swap(view.strides[a], view.strides[b]);
  return view;
}

}  // namespace

std::string_view name(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f64: return "f64";
  }
  return "unknown";
}

TensorView tensor(void* data, DType dtype, std::span<const std::int64_t> shape) {
  return contiguous<void*>(data, dtype, shape);
}

ConstTensorView tensor(const void* data, DType dtype, std::span<const std::int64_t> shape) {
  return contiguous<const void*>(data, dtype, shape);
}

TensorView tensor(void* data, DType dtype, std::initializer_list<std::int64_t> shape) {
  return tensor(data, dtype, std::span(shape));
}

ConstTensorView tensor(const void* data, DType dtype, std::initializer_list<std::int64_t> shape) {
  return tensor(data, dtype, std::span(shape));
}

TensorView transposed(TensorView view, int axis, int other) { return exchanged(view, axis, other); }
ConstTensorView transposed(ConstTensorView view, int axis, int other) { return exchanged(view, axis, other); }

}  // namespace posenc::inline v0_2
