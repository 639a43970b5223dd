// What a TensorFile is made of: the source of its bytes, its format, the list of its tensors; of an index, one for each
// shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/files/byte_source.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {

// `list` has the tensors of all sources, each with the number of its source; `by_name` sorts them by name for find().
struct OpenTensorFile {
  OpenTensorFile(std::string called, TensorFormat read_as) : name(std::move(called)), format(read_as) {}

  std::string name;                 // of the file that was opened: of shards, their index
  std::vector<ByteSource> sources;  // one, or one for each shard
  DataAccess access = DataAccess::read;
  TensorFormat format;
  TensorList list;
  std::vector<std::uint32_t> by_name;  // into list.tensors

  const ByteSource& source_of(const TensorEntry& entry) const { return sources[static_cast<std::size_t>(entry.file)]; }
  // About one of the tensors.
  FileError error(ErrorKind kind, const TensorEntry& entry, std::string expected, std::string got,
                  std::string detail = {}) const;
};

// By the first bytes; where they do not say, by the end of the source's name.
// What it is instead is named in the error, where it is known.
Result<TensorFormat> find_format(const ByteSource& source);
// Reads the header by the format's reader (tensor_list.h).
Result<TensorList> list_tensors(const ByteSource& source, TensorFormat format, bool raw16_is_bf16);

}  // namespace posenc::io
