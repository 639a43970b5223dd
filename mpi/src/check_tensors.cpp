#include "check_tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>

#include "posenc/error.h"

namespace posenc::mpi_library {
namespace {

struct Bytes {
  const std::byte* first;
  const std::byte* end;
};

Bytes bytes_of_all(const ConstTensorView& x) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (x.shape[a] < 1) return {};
    (x.strides[a] < 0 ? low : high) += (x.shape[a] - 1) * x.strides[a];
  }
  const auto* const data = static_cast<const std::byte*>(x.data);
  return {data + low * bytes_of(x.dtype), data + (high + 1) * bytes_of(x.dtype)};
}

bool share_memory(const ConstTensorView& x, const ConstTensorView& y) {
  if (x.data == nullptr || y.data == nullptr) return false;
  const Bytes a = bytes_of_all(x);
  const Bytes b = bytes_of_all(y);
  constexpr std::less<> kBefore;  // of pointers into different memory too
  return a.first != a.end && b.first != b.end && kBefore(a.first, b.end) && kBefore(b.first, a.end);
}

}  // namespace

void check_shape(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  const auto refuse = [&](std::string must, std::string is) {
    throw Error(where, {field, std::move(must), std::move(is)});
  };
  const auto listed = [](std::span<const std::int64_t> sizes) {
    std::string out;
    for (const std::int64_t size : sizes) out += (out.empty() ? "" : ", ") + std::to_string(size);
    return "[" + out + "]";
  };
  const std::span<const std::int64_t> is(x.shape.data(), static_cast<std::size_t>(x.rank));
  if (!std::ranges::equal(is, shape)) {
    refuse("be of shape " + listed(shape), x.empty() ? "omitted" : "of " + listed(is));
  }
  const std::size_t last = shape.size() - 1;
  if (shape[last] > 1 && x.strides[last] != 1) refuse("have its last axis adjacent", "strided");
  const bool has_numbers = std::ranges::all_of(shape, [](std::int64_t size) { return size > 0; });
  if (has_numbers && x.data == nullptr) refuse("point to its numbers", "null");
}

void check_heads(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape) {
  check_shape(where, field, x, shape);
  if (x.dtype >= DType::f64) throw Error(where, {field, "be f32, f16 or bf16", std::string(name(x.dtype))});
}

void check_written(const char* where, const LayerPlan& layer, const TensorView& out, const TensorView& lse,
                   std::int64_t queries) {
  const std::array<std::int64_t, 3> shape{queries, layer.heads, layer.value_dim};
  check_heads(where, "out", out, shape);
  if (lse.empty()) return;
  check_heads(where, "lse", lse, std::span(shape).first(2));
  if (lse.dtype != DType::f32) throw Error(where, {"lse", "be f32", std::string(name(lse.dtype))});
}

void check_apart(const char* where, std::span<const Named> written, std::span<const Named> read) {
  const auto check = [&](const Named& one, const Named& other) {
    if (!share_memory(one.second, other.second)) return;
    throw Error(where, {one.first, std::string("not share memory with ") + other.first, "memory of both"});
  };
  for (std::size_t n = 0; n < written.size(); ++n) {
    for (const Named& before : written.first(n)) check(written[n], before);
    for (const Named& other : read) check(written[n], other);
  }
}

}  // namespace posenc::mpi_library
