// What posenc convert has left in a checkpoint of safetensors (docs/convert.md): which rows it moved, and how they pair
// now. Of a GGUF file its plan says so itself, by the same warning.
#pragma once

#include <string_view>
#include <vector>

#include "line/model_word.h"
#include "posenc/tensor_file.h"
#include "posenc/warning.h"

namespace posenc::tool {

inline constexpr std::string_view kConvertedRows = "converted-rows";

// A warning for each stack that the file's marks name.
std::vector<Warning> conversion_marks(const TensorFile& file);

// Those of the weights in a model's folder, or beside its config.json. None where there are no weights, or they cannot
// be read: a plan needs none.
std::vector<Warning> conversion_marks(const ModelWord& model);

}  // namespace posenc::tool
