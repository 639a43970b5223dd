// A model whose tensors are in several files, and the index that says in which:
//
//   {"metadata": {"total_size": 24}, "weight_map": {"a": "model-00001-of-00002.safetensors", ...}}
//
// Written by transformers as model.safetensors.index.json. The shards lie beside the index: a name that could lead out
// of its folder is refused, whoever wrote it. A shard may be a symbolic link; all of Hugging Face's cache is.
#pragma once

#include <filesystem>
#include <memory>

#include "io/tensors/open_tensor_file.h"

namespace posenc::io {

inline constexpr std::size_t kMaxShards = 1024;  // each stays open

// By the end of its name, which transformers fixes.
bool is_shard_index(const std::filesystem::path& path);
// Every name of the index must be in the shard that it is said to be in. What a shard has beside that is ignored, with
// a warning.
Result<std::unique_ptr<OpenTensorFile>> open_shards(const std::filesystem::path& index);

}  // namespace posenc::io
