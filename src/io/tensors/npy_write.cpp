// Writes .npy, version 1.0. The data begins at a multiple of 64 bytes, as NumPy has it.
#include "base/checked.h"
#include "base/formatted.h"
#include "io/tensors/write_tensor.h"
#include "posenc/tensor_file.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::string_view kNpyHead = "\x93NUMPY\x01";  // and a version of 1.0
// Behind the magic (6 bytes) and the version (2): the header's length, two bytes in version 1.
constexpr std::size_t kLengthAt = 8;

// NumPy has no bf16: ml_dtypes registers it as two raw bytes, V2.
std::string_view descr(DType dtype) {
  switch (dtype) {
    case DType::f64: return "<f8";
    case DType::f32: return "<f4";
    case DType::f16: return "<f2";
    case DType::bf16: return "<V2";
  }
  return {};
}

// The dict, then spaces and a newline up to a multiple of 64. At most kMaxRank sizes: far below the 65535 bytes that
// the length can say.
std::string header_of(const ConstTensorView& tensor) {
  std::string header(kNpyHead);
  header.resize(kLengthAt + 2, '\0');
  header += formatted("{{'descr': '{}', 'fortran_order': False, 'shape': (", descr(tensor.dtype));
  for (int axis = 0; axis < tensor.rank; ++axis) {
    header += formatted("{}{}", axis == 0 ? "" : " ", tensor.shape[static_cast<std::size_t>(axis)]);
    if (axis == 0 || axis + 1 < tensor.rank) header += ',';
  }
  header += "), }";
  header.resize((header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment, ' ');
  header.back() = '\n';
  const std::size_t length = header.size() - kLengthAt - 2;
  header[kLengthAt] = static_cast<char>(length & 0xFFU);
  header[kLengthAt + 1] = static_cast<char>(length >> 8U);
  return header;
}

}  // namespace

Result<std::int64_t> write_npy(const std::filesystem::path& path, const ConstTensorView& tensor,
                               const WriteOptions& options) {
  io::checked_bytes("write_npy", tensor);
  io::OutputFile out(path, options);
  out.write(header_of(tensor));
  io::write_elements(out, tensor);
  return out.publish();
}

}  // namespace posenc::inline v0_2
