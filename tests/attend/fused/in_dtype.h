// Numbers as elements of a dtype.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "cpu/call/heads_view.h"
#include "cpu/lower/weight_reader.h"
#include "cpu/machine/dispatch.h"

namespace posenc::test {

// The numbers in that dtype; they become what it can hold.
inline std::vector<std::byte> in_dtype(std::vector<double>& numbers, DType dtype) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<std::byte> out(numbers.size() * static_cast<std::size_t>(bytes_of(dtype)));
  if (dtype == DType::f32) {
    if (!out.empty()) std::memcpy(out.data(), floats.data(), out.size());
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

}  // namespace posenc::test
