// From the word FILE or FILE:NAME to a tensor. - is standard input, -:NAME a tensor of it.
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

// A file, or standard input, with its bytes in `held`: they must outlive the TensorFile. Throws Failure.
TensorFile open_tensor_word(const TensorWord& word, const std::string& file, std::string& held);

// Whether a word stands for standard input.
bool is_standard_input(std::string_view text);
// Standard input can be read once. Throws UsageError where several of those words (those that were given) stand for it;
// `model` is one of them if it is -.
void check_standard_input(const std::string& model, const std::vector<TensorWord>& words);

struct TensorArgument {
  std::string file;
  std::string name;  // in the file; empty in a .npy file
  TensorData data;
  std::vector<Warning> warnings;  // about the file
  std::string rotations;          // noted in the file (rotation_record.h); empty where nothing is
};

// Throws Failure where the file or the tensor cannot be had.
TensorArgument read_tensor_argument(const TensorWord& word);

// "posenc: --q: q.npy: WHAT", for what is wrong with it; kMalformed.
[[noreturn]] void refuse(const TensorWord& word, const TensorArgument& tensor, const std::string& what);

std::string shape_text(const std::vector<std::int64_t>& shape);  // "[6, 32, 128]"

}  // namespace posenc::tool
