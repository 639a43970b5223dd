// The mark that a conversion leaves in each file whose rows it moves, so that the next one knows of it: nothing else in
// safetensors or GGUF says how rows pair, and the same permutation a second time gives the numbers of no model.
//
//   safetensors, in __metadata__:   "posenc.pairing.decoder": "interleaved"
//   GGUF, a key of type string:      posenc.pairing.decoder = "interleaved"
//
// by the stack's name; both formats let readers pass over keys that they do not know. The value is what the rows are
// now. A file that is converted back has none again, and is what it was, byte by byte: what is put in is as long as the
// alignment of the data asks for, so that nothing else moves, and it is all that is taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/byte_source.h"
#include "posenc/error.h"
#include "posenc/rope.h"
#include "posenc/tensor_file.h"

namespace posenc::conversion {

// So many bytes of a file from `at` on are replaced.
struct Splice {
  std::int64_t at = 0;
  std::int64_t removed = 0;
  std::string put;
};

// In the order of their places; all stand before the data.
using Splices = std::vector<Splice>;
// By how much they make a file longer.
std::int64_t growth_of(const Splices& splices) noexcept;

std::string mark_key(std::string_view stack);

// What a file says of its rows in that stack; nothing where it has no mark. Another value than a pairing is an error.
Result<std::optional<Pairing>> read_mark(const io::ByteSource& source, TensorFormat format, std::string_view stack);

// The mark put in (the file must have none), or taken out.
Result<Splices> put_mark(const io::ByteSource& source, TensorFormat format, std::string_view stack, Pairing pairing);
Result<Splices> take_mark(const io::ByteSource& source, TensorFormat format, std::string_view stack);

}  // namespace posenc::conversion
