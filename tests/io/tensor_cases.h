// Hostile files of tensors: D, E and F of the checklist, and the tensors of C and A.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "posenc/tensor_file.h"

namespace posenc::test {

struct TensorCase {
  std::string id;
  TensorFormat format;
  std::function<std::string()> make;
  std::optional<ErrorKind> kind;  // nothing: accepted
  std::string fragment;           // of the message; of an accepted file: the code of its warning, or empty
  std::string path{};             // the tensor or the key that is named
  std::int64_t offset = -1;       // -1: not asked for
  bool raw16_is_bf16 = false;
};

// GoogleTest would print the bytes, and with them those between the members, which nobody has written.
inline void PrintTo(const TensorCase& c, std::ostream* out) { *out << c.id; }

std::vector<TensorCase> tensor_cases();

}  // namespace posenc::test
