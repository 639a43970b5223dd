// What all tensor formats share: element counts and bytes with every product checked, row-major or Fortran strides, and
// warnings.
#include "io/tensors/tensor_list.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace posenc::io {

void TensorList::warn(std::string_view code, std::string_view key, std::string message) {
  if (std::ranges::find(warnings, code, &Warning::code) != warnings.end()) return;
  warnings.push_back({std::string(code), std::move(message), {std::string(key.substr(0, 256))}});
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) noexcept {
  std::uint64_t product = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    const auto wider = checked_multiply(product, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)));
    if (!wider || *wider > INT64_MAX) return {};
    product = *wider;
    empty = empty || size == 0;
  }
  return empty ? 0 : static_cast<std::int64_t>(product);
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape, bool fortran_order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran_order ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

// bits_of() is up to 128: the product is checked as bits, in 64, and a sum of packed 4 or 6 bit elements must be whole
// bytes.
std::optional<std::int64_t> byte_count(std::int64_t elements, ElementType type) noexcept {
  const auto bits = checked_multiply(static_cast<std::uint64_t>(elements), static_cast<std::uint64_t>(bits_of(type)));
  if (!bits || *bits % 8 != 0) return {};
  return static_cast<std::int64_t>(*bits / 8);
}

}  // namespace posenc::io
