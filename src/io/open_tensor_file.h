// What a TensorFile is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/byte_source.h"
#include "io/tensor_list.h"

namespace posenc::io {

struct OpenTensorFile {
  explicit OpenTensorFile(ByteSource from) : source(std::move(from)) {}

  ByteSource source;
  DataAccess access = DataAccess::read;
  TensorFormat format = TensorFormat::npy;
  TensorList list;
  std::vector<std::uint32_t> by_name;  // into list.tensors

  // About one of the tensors.
  FileError error(ErrorKind kind, const TensorEntry& entry, std::string expected, std::string got,
                  std::string detail = {}) const;
};

// By the first bytes; where they do not say, by the end of the source's name.
Result<TensorFormat> find_format(const ByteSource& source);
Result<TensorList> list_tensors(const ByteSource& source, TensorFormat format, bool raw16_is_bf16);

}  // namespace posenc::io
