#include "attend/fused_call.h"

#include <cstring>

#include "cpu/dispatch.h"
#include "cpu/heads_view.h"
#include "cpu/weight_reader.h"

namespace posenc::test {
namespace {

// The numbers in that dtype; they become what it can hold.
std::vector<std::byte> in_dtype(std::vector<double>& numbers, DType dtype) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<std::byte> out(numbers.size() * static_cast<std::size_t>(bytes_of(dtype)));
  if (dtype == DType::f32) {
    std::memcpy(out.data(), floats.data(), out.size());
  } else {
    cpu::kernels_for("test", Isa::scalar)
        .convert({.from_element = kernels::Element::f32,
                  .to_element = cpu::element_of(dtype),
                  .rows = 1,
                  .count = count,
                  .from = floats.data(),
                  .to = out.data()});
  }
  numbers = cpu::read_all(tensor(static_cast<const void*>(out.data()), dtype, {count}));
  return out;
}

ConstTensorView view(const Tensor& like, const std::vector<std::byte>& data, DType dtype) {
  ConstTensorView out = like;
  out.data = data.data();
  out.dtype = dtype;
  return out;
}

}  // namespace

FusedCall::FusedCall(SchemeCall& call, DType dtype)
    : call_(call),
      dtype_(dtype),
      q_(in_dtype(call.q.values, dtype)),
      k_(in_dtype(call.k.values, dtype)),
      v_(in_dtype(call.v.values, dtype)) {}

SchemeCall::Result FusedCall::by_kernels(Isa isa, std::int64_t threads) {
  Tensor shape{{}, call_.q.shape};
  shape.shape.back() = call_.layer.value_dim;
  const std::size_t rows = call_.q.values.size() / static_cast<std::size_t>(call_.layer.head_dim);
  const std::size_t elements = rows * static_cast<std::size_t>(call_.layer.value_dim);
  std::vector<std::byte> out(elements * static_cast<std::size_t>(bytes_of(dtype_)), std::byte{0xFF});
  std::vector<float> lse(rows);
  Tensor lse_shape{{}, call_.q.shape};
  lse_shape.shape.pop_back();
  TensorView out_view = shape.writable();
  out_view.data = out.data();
  out_view.dtype = dtype_;
  TensorView lse_view = lse_shape.writable();
  lse_view.data = lse.data();
  lse_view.dtype = DType::f32;
  attend(call_.layer, {.out = out_view,
                       .q = view(call_.q, q_, dtype_),
                       .k = view(call_.k, k_, dtype_),
                       .v = view(call_.v, v_, dtype_),
                       .weights = call_.weights,
                       .inputs = call_.inputs,
                       .lse = lse_view,
                       .parallel = {.threads = threads},
                       .isa = isa,
                       .work = &work});
  return {cpu::read_all(tensor(static_cast<const void*>(out.data()), dtype_, {static_cast<std::int64_t>(elements)})),
          {lse.begin(), lse.end()}};
}

}  // namespace posenc::test
