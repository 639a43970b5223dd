// The table of tensors of a GGUF file: names, shapes, types, offsets, and whether they fit together.
//
//   bytes = elements / block * bytes of a block,  offset of the next = this one's end, padded to general.alignment
//
// ggml's rule (gguf_init_from_file) is checked as it stands, every product for overflow.
//
//   entry: name (length, bytes), number of dimensions u32, each dimension, type u32, offset u64
//
// Dimensions are as wide as lengths. Offsets count from the start of the weights, which is the table's end, padded.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "io/gguf/gguf_names.h"
#include "io/gguf/gguf_parts.h"
#include "io/gguf/gguf_types.h"

namespace posenc::io {
namespace {

constexpr std::uint64_t kGgmlNameBytes = 63;  // GGML_MAX_NAME, without its NUL

class TensorReader {
 public:
  explicit TensorReader(GgufReading& reading) : reading_(reading), cursor_(reading.cursor) {}

  void read_all() {
    for (index_ = 0; index_ < reading_.header.tensor_count && !cursor_.failed(); ++index_) read_entry();
    if (cursor_.failed()) return;
    if (const auto twice = names_.repeated()) {
      return cursor_.fail(ErrorKind::bad_tensor, twice->second, {}, "each tensor once", "a name that stands twice",
                          formatted("first at byte {}", twice->first));
    }
    find_data();
  }

 private:
  void read_entry() {
    GgufTensor tensor;
    tensor.at = cursor_.position();
    tensor.name = read_name();
    if (cursor_.failed()) return;
    names_.add(tensor.name, tensor.at);
    read_shape(tensor);
    if (cursor_.failed()) return;
    tensor.type = cursor_.u32(tensor.name);
    const std::uint64_t offset_at = cursor_.position();
    tensor.offset = cursor_.u64(tensor.name);
    if (cursor_.failed()) return;
    const std::optional<std::uint64_t> bytes = size_of(tensor);
    if (cursor_.failed()) return;
    check_offset(tensor, offset_at, bytes);
    if (!cursor_.failed() && reading_.keep.tensor(tensor.name)) keep(std::move(tensor));
  }

  // A name without text or longer than ggml's buffer is odd, not wrong: a note.
  std::string read_name() {
    const std::uint64_t offset = cursor_.position();
    const std::uint64_t length = reading_.length(
        formatted("the length of the name of tensor {} of {}", index_ + 1, reading_.header.tensor_count));
    if (cursor_.failed()) return {};
    if (length > kMaxGgufTensorNameBytes) {
      cursor_.fail(ErrorKind::bad_tensor, offset, {},
                   formatted("a tensor's name of at most {} bytes", kMaxGgufTensorNameBytes), formatted("{}", length));
      return {};
    }
    std::string name = cursor_.text(static_cast<std::size_t>(length), "the name of a tensor");
    if (!cursor_.failed() && !is_clean_gguf_name(name)) {
      cursor_.fail(ErrorKind::bad_tensor, offset + reading_.length_bytes(), {},
                   "a tensor's name in UTF-8 without control characters", name.substr(0, 64));
    }
    if (length == 0) reading_.note("tensor-name", name, "A tensor has no name.");
    if (length > kGgmlNameBytes) {
      reading_.note("tensor-name", name, "A tensor's name is longer than the 63 bytes that ggml can hold.");
    }
    return name;
  }

  void read_shape(GgufTensor& tensor) {
    const std::uint64_t offset = cursor_.position();
    tensor.dims = cursor_.u32(tensor.name);
    if (cursor_.failed()) return;
    if (tensor.dims > tensor.shape.size()) {
      return cursor_.fail(ErrorKind::bad_tensor, offset, tensor.name, "at most 4 dimensions",
                          formatted("{}", tensor.dims));
    }
    std::optional<std::uint64_t> product = 1;  // of the dimensions, 0 taken for 1: a zero hides no absurd other
    tensor.elements = 1;
    for (std::uint32_t i = 0; i < tensor.dims && !cursor_.failed(); ++i) {
      const std::uint64_t at = cursor_.position();
      const std::uint64_t dim = reading_.length(tensor.name);
      tensor.shape[i] = dim;
      if (dim > INT64_MAX) {
        cursor_.fail(ErrorKind::out_of_range, at, tensor.name, "a dimension from 0 to 2^63 - 1", formatted("{}", dim));
      }
      product = checked_multiply(product.value_or(0), std::max<std::uint64_t>(dim, 1));
      if (!product || *product > INT64_MAX) {
        cursor_.fail(ErrorKind::overflow, at, tensor.name, "a shape of less than 2^63 elements",
                     formatted("a dimension of {} more", dim));
      }
      tensor.elements = dim == 0 ? 0 : tensor.elements * dim;  // at most product: fits
    }
  }

  // Bytes; nothing for a type that is not known here.
  std::optional<std::uint64_t> size_of(const GgufTensor& tensor) {
    const std::optional<GgmlType> type = ggml_type(tensor.type);
    if (!type) return {};
    if (tensor.shape[0] % type->block != 0) {
      cursor_.fail(ErrorKind::block_size, tensor.at, tensor.name,
                   formatted("rows of a multiple of {} numbers, the block of {}", type->block, type->name),
                   formatted("{}", tensor.shape[0]));
      return {};
    }
    const std::optional<std::uint64_t> bytes = checked_multiply(tensor.elements / type->block, type->bytes);
    if (bytes && *bytes <= INT64_MAX) return bytes;
    cursor_.fail(ErrorKind::overflow, tensor.at, tensor.name, "a tensor of less than 2^63 bytes",
                 formatted("{} numbers of {}", tensor.elements, type->name));
    return {};
  }

  // ggml's rule: tensors follow one another in the table's order, each padded to the alignment.
  void check_offset(const GgufTensor& tensor, std::uint64_t at, const std::optional<std::uint64_t>& bytes) {
    const auto wrong = [&](std::string expected) {
      cursor_.fail(ErrorKind::bad_offset, at, tensor.name, std::move(expected), formatted("{}", tensor.offset));
    };
    const std::uint64_t alignment = reading_.header.alignment;
    if (next_ && tensor.offset != *next_) return wrong(formatted("offset {}, where the one before ends", *next_));
    if (tensor.offset % alignment != 0) return wrong(formatted("a multiple of the alignment {}", alignment));
    if (tensor.offset < end_) return wrong(formatted("an offset of {} or more", end_));
    const std::optional<std::uint64_t> end = checked_add(tensor.offset, bytes.value_or(0));
    next_ = end ? checked_pad(*end, alignment) : end;
    if (!next_ || *next_ > INT64_MAX) {
      return cursor_.fail(ErrorKind::overflow, at, tensor.name, "tensors of less than 2^63 bytes in all",
                          formatted("{} bytes from offset {} on", bytes.value_or(0), tensor.offset));
    }
    end_ = *end;
    if (!bytes) next_.reset();
  }

  // Where the weights begin, and whether they are all there.
  void find_data() {
    const std::uint64_t table_end = cursor_.position();
    const std::optional<std::uint64_t> begin = checked_pad(table_end, reading_.header.alignment);
    const std::optional<std::uint64_t> end = begin ? checked_add(*begin, end_) : begin;
    if (!end) {
      return cursor_.fail(ErrorKind::overflow, table_end, {}, "a file of less than 2^64 bytes", "a larger one");
    }
    reading_.header.data_offset = *begin;
    if (end_ == 0 || *end <= cursor_.size().value_or(UINT64_MAX)) return;
    cursor_.fail(ErrorKind::truncated, *begin, {}, formatted("a file of {} bytes", *end),
                 formatted("{}", *cursor_.size()), "the header is whole, the weights are not");
  }

  void keep(GgufTensor tensor) {
    const std::size_t most = reading_.keep.most_tensors;
    if (reading_.header.tensors.size() == most) {
      return cursor_.fail(ErrorKind::limit, tensor.at, tensor.name, formatted("at most {} tensors of that kind", most),
                          "more");
    }
    reading_.header.tensors.push_back(std::move(tensor));
  }

  GgufReading& reading_;
  ByteCursor& cursor_;
  GgufNames names_;
  std::uint64_t index_ = 0;
  std::optional<std::uint64_t> next_ = 0;  // where the next tensor must begin; nothing after a type of unknown size
  std::uint64_t end_ = 0;                  // of the last tensor of known size
};

}  // namespace

void read_gguf_tensors(GgufReading& reading) { TensorReader(reading).read_all(); }

}  // namespace posenc::io
