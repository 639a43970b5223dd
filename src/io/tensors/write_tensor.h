// Puts a view's elements into a file, in C order and little-endian: the data part of .npy and safetensors.
#pragma once

#include <string_view>

#include "io/files/output_file.h"
#include "posenc/tensor.h"

namespace posenc::io {

// Throws Error, on behalf of `where`, for a view that cannot be written; gives its size in bytes.
std::int64_t checked_bytes(std::string_view where, const ConstTensorView& tensor);
// Of a view that is checked.
void write_elements(OutputFile& out, const ConstTensorView& tensor);

}  // namespace posenc::io
