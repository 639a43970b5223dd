// What must hold of a file of tensors, whatever its bytes are.
#pragma once

#include <string_view>

#include "posenc/tensor_file.h"

namespace posenc::fuzz {

// A list or a sound error, within 64 bytes per byte and 1 MiB. What is listed lies in the file, is found by its name,
// and is the same read and looked at.
void must_open_or_say_why(std::string_view bytes, TensorFormat format);

}  // namespace posenc::fuzz
