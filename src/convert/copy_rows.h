// A file of a checkpoint as it shall be, from its first byte to its last, in pieces: copied, but for rows that come in
// another order and for a mark in its header (mark.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "convert/mark.h"
#include "convert/row_moves.h"
#include "io/tensors/open_tensor_file.h"
#include "posenc/error.h"
#include "posenc/rope.h"

namespace posenc::conversion {

struct Pairings {
  Pairing from;
  Pairing to;
};

// Takes the next bytes; false ends the copying.
using TakeBytes = std::function<bool(std::span<const std::byte>)>;

// `moves` are those of that file's tensors, in the order of their data, and `splices` stand before all data. Memory:
// two pieces of 4 MiB.
std::optional<FileError> copy_rows(const io::OpenTensorFile& file, std::size_t source,
                                   std::span<const TensorMove* const> moves, Pairings pairings, const Splices& splices,
                                   const TakeBytes& take);

}  // namespace posenc::conversion
