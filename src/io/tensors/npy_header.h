// The header of a .npy file: a Python dict of three keys, as text.
//
//   magic "\x93NUMPY", version (two bytes), length of the text (two bytes in version 1, four in 2 and 3), the text:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//                                                https://github.com/numpy/numpy (numpy/lib/format.py)
//
// Read by a grammar of its own: strings, True, False, tuples of decimal integers, and nothing else. Nothing is
// evaluated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/byte_cursor.h"
#include "posenc/tensor_file.h"

namespace posenc::io {

// `descr` is as written, "<f4". Offsets are bytes of the file, for errors.
struct NpyHeader {
  std::string descr;
  std::uint64_t descr_at = 0;  // byte offsets
  std::uint64_t shape_at = 0;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// The cursor then stands where the header ends. On a failure it says why, and the header is void.
NpyHeader read_npy_header(ByteCursor& cursor);

inline constexpr std::string_view kNpyEnding = ".npy";

// The array whose header the cursor stands at, which is left behind it: whether the elements are there is for the
// caller to ask. Void on a failure.
TensorEntry read_npy_entry(ByteCursor& cursor, bool raw16_is_bf16);

}  // namespace posenc::io
