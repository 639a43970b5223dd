// From the word FILE or FILE:NAME to a tensor.
//
// The whole word is the file if there is one of that name; else what stands before the first colon before which a file
// stands, and the rest is the tensor's name. Without a name the file's only tensor is meant, or, of several, the one
// named like the flag: q, k.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/tensor_file.h"

namespace posenc::tool {

struct TensorWord {
  std::string flag;  // "--q"
  std::string text;  // "q.npy", "model.safetensors:blk.0.q"
  bool raw16_is_bf16 = false;
};

struct TensorArgument {
  std::string file;
  std::string name;  // in the file; empty in a .npy file
  TensorData data;
  std::vector<Warning> warnings;  // about the file
};

// Throws Failure where the file or the tensor cannot be had.
TensorArgument read_tensor_argument(const TensorWord& word);

// "posenc: --q: q.npy: WHAT", for what is wrong with it; kMalformed.
[[noreturn]] void refuse(const TensorWord& word, const TensorArgument& tensor, const std::string& what);

std::string shape_text(const std::vector<std::int64_t>& shape);  // "[6, 32, 128]"

}  // namespace posenc::tool
