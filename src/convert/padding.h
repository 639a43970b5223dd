// Heads that were made wider with zeros, for kernels that want so many channels.
#pragma once

#include <cstdint>
#include <optional>

#include "convert/row_moves.h"
#include "io/tensors/open_tensor_file.h"
#include "posenc/error.h"

namespace posenc::conversion {

// Where heads are said to have `padded` rows: an error unless those behind head_dim are zeros, in every weight and
// bias. A norm's are not looked at: they multiply zeros.
std::optional<FileError> check_padding(const io::OpenTensorFile& file, const RowMoves& moves,
                                       std::optional<std::int64_t> padded);

}  // namespace posenc::conversion
