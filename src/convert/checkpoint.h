// The files of a checkpoint: which they are, what tensors each has, and what lies beside them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/tensors/open_tensor_file.h"
#include "posenc/error.h"
#include "posenc/tensor_file.h"

namespace posenc::conversion {

struct Checkpoint {
  std::unique_ptr<io::OpenTensorFile> file;  // all files with tensors; TensorEntry::file counts `names`
  std::vector<std::string> names;            // of those files, without a folder
  std::string index;                         // of shards, its name; empty: there is none
  std::filesystem::path model;               // whose plan holds: the GGUF file, or config.json; may not exist
  std::filesystem::path folder;              // that they are in
  bool whole_folder = false;                 // the output is a folder, with what lies beside
  std::vector<std::string> beside;           // names of the other files to copy, sorted
  std::vector<std::string> left_out;         // files and folders that are not: weights of other formats
};

// What is not a checkpoint that can be converted is refused: pickles (.bin, .pt, .pth) by name, with what to do.
Result<Checkpoint> open_checkpoint(const std::filesystem::path& source);

}  // namespace posenc::conversion
