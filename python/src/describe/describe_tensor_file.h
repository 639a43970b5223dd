// Files of tensors (posenc/tensor_file.h), as Python sees them.
#pragma once

#include <string_view>

#include "convert.h"
#include "describe/described.h"
#include "posenc/tensor_file.h"

namespace posenc::python {

// clang-format off
template <> struct Last<TensorFormat> : LastIs<TensorFormat::npz> {};
template <> struct Last<ElementType> : LastIs<ElementType::other> {};
// clang-format on

// Of TensorFile.tensors. A value, so that lists of them can be compared and pickled.
constexpr auto description(Type<TensorEntry>) {
  using T = TensorEntry;
  return described_as<T>(
      "TensorEntry", "One tensor of a file.", member("name", &T::name, "As the file has it; empty in a .npy file."),
      member("type", &T::type), member("type_name", &T::type_name, "As the file spells it: '<f4', 'BF16', 'Q4_K'."),
      member("shape", &T::shape, "The slowest axis first, in every format; empty: a scalar."),
      member("strides", &T::strides, "In elements."),
      member("offset", &T::offset, "Of its data, in bytes from the start of the file."),
      member("bytes", &T::bytes, "-1 where the type's size is not known."),
      member("file", &T::file, "Of an index: the number of its shard, in the order of their names."),
      member("big_endian", &T::big_endian, "In the file; what read() gives is in the machine's order."));
}

}  // namespace posenc::python
