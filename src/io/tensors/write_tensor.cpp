// Elements of a strided view in row-major order, as .npy and safetensors have them: at once where the view is dense,
// else in blocks.
#include "io/tensors/write_tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>

#include "base/formatted.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 16;  // bytes

std::span<const std::int64_t> shape_of(const ConstTensorView& tensor) {
  return std::span(tensor.shape).first(static_cast<std::size_t>(tensor.rank));
}

// Whether the elements lie in C order without gaps. Sizes of 1 have no stride to speak of.
bool is_dense(const ConstTensorView& tensor) {
  const std::vector<std::int64_t> dense = dense_strides(shape_of(tensor));
  for (std::size_t axis = 0; axis < dense.size(); ++axis) {
    if (tensor.shape[axis] > 1 && tensor.strides[axis] != dense[axis]) return false;
  }
  return true;
}

// Walks the axes from the slowest on, by their strides, and collects elements in a buffer: a write(2) for each element
// would cost a system call for each.
class ElementWriter {
 public:
  ElementWriter(OutputFile& out, const ConstTensorView& tensor)
      : out_(out), tensor_(tensor), width_(static_cast<std::size_t>(bytes_of(tensor.dtype))) {}

  void write_axis(int axis, std::int64_t from) {
    const auto at = static_cast<std::size_t>(axis);
    for (std::int64_t i = 0; i < tensor_.shape[at]; ++i, from += tensor_.strides[at]) {
      if (axis + 1 < tensor_.rank) {
        write_axis(axis + 1, from);
      } else {
        put(from);
      }
    }
  }
  void flush() {
    out_.write(std::string_view(buffer_.data(), used_));
    used_ = 0;
  }

 private:
  void put(std::int64_t element) {
    if (used_ + width_ > buffer_.size()) flush();
    const auto* const bytes = static_cast<const char*>(tensor_.data) + element * bytes_of(tensor_.dtype);
    char* const to = buffer_.data() + used_;
    std::memcpy(to, bytes, width_);
    if constexpr (std::endian::native == std::endian::big) std::reverse(to, to + width_);
    used_ += width_;
  }

  OutputFile& out_;
  const ConstTensorView& tensor_;
  std::size_t width_;
  std::array<char, kBuffer> buffer_;
  std::size_t used_ = 0;
};

}  // namespace

std::int64_t checked_bytes(std::string_view where, const ConstTensorView& tensor) {
  const auto fail = [&](std::string field, std::string must, std::string is) {
    throw Error(where, {std::move(field), std::move(must), std::move(is)});
  };
  if (tensor.rank < 1 || tensor.rank > kMaxRank) {
    fail("rank", formatted("be from 1 to {}", kMaxRank), formatted("{}", tensor.rank));
  }
  for (const std::int64_t size : shape_of(tensor)) {
    if (size < 0) fail("shape", "have no negative size", formatted("{}", size));
  }
  const std::optional<std::int64_t> elements = element_count(shape_of(tensor));
  if (!elements || *elements > INT64_MAX / 8) fail("shape", "have less than 2^60 elements", "larger");
  if (*elements > 0 && tensor.data == nullptr) fail("data", "be there", "null");
  return *elements * bytes_of(tensor.dtype);
}

// A dense view on a little-endian machine is the file's bytes already.
void write_elements(OutputFile& out, const ConstTensorView& tensor) {
  const std::int64_t elements = *element_count(shape_of(tensor));
  if (elements == 0) return;
  if (std::endian::native == std::endian::little && is_dense(tensor)) {
    return out.write(
        {static_cast<const char*>(tensor.data), static_cast<std::size_t>(elements * bytes_of(tensor.dtype))});
  }
  ElementWriter writer(out, tensor);
  writer.write_axis(0, 0);
  writer.flush();
}

}  // namespace posenc::io
