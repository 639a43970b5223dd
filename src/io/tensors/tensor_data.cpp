// The elements of one tensor: read into memory, or viewed in the mapping where they can be used as they are; in the
// machine's byte order.
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/formatted.h"
#include "io/tensors/open_tensor_file.h"
#include "posenc/tensor_file.h"

namespace posenc::inline v0_2 {
namespace {

// Bytes of what a change of byte order reverses: of a complex number, each half.
std::size_t unit_of(ElementType type) {
  const auto bytes = static_cast<std::size_t>(bits_of(type) / 8);
  const bool complex = type == ElementType::complex64 || type == ElementType::complex128;
  return std::max<std::size_t>(complex ? bytes / 2 : bytes, 1);
}

template <typename Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    std::reverse(bytes.data() + at, bytes.data() + at + sizeof(Word));
  }
}

void swap_bytes(std::span<std::byte> bytes, std::size_t unit) {
  switch (unit) {
    case 2: return swap_words<std::uint16_t>(bytes);
    case 4: return swap_words<std::uint32_t>(bytes);
    case 8: return swap_words<std::uint64_t>(bytes);
    default: return;
  }
}

bool is_aligned(const void* at, std::size_t to) { return reinterpret_cast<std::uintptr_t>(at) % to == 0; }

template <typename Pointer>
BasicTensorView<Pointer> view_of(Pointer data, ElementType type, std::span<const std::int64_t> shape,
                                 std::span<const std::int64_t> strides) {
  const std::optional<DType> dtype = dtype_of(type);
  if (!dtype) throw Error("TensorData", {"type", "be f64, f32, f16 or bf16", std::string(name(type))});
  if (shape.size() > kMaxRank) {
    throw Error("TensorData", {"rank", formatted("be at most {}", kMaxRank), formatted("{}", shape.size())});
  }
  BasicTensorView<Pointer> view{data, *dtype, std::max(static_cast<int>(shape.size()), 1), {1}, {1}};
  std::ranges::copy(shape, view.shape.begin());
  std::ranges::copy(strides, view.strides.begin());
  return view;
}

}  // namespace

ConstTensorView TensorData::view() const {
  return view_of(static_cast<const void*>(bytes_.data()), type_, shape_, strides_);
}

TensorView TensorData::mutable_view() {
  if (!owned()) throw Error("TensorData", {"data", "be owned to be changed", "mapped"});
  return view_of(static_cast<void*>(memory_.get()), type_, shape_, strides_);
}

// Mapped data is viewed where the byte order is the machine's and the address is a multiple of the element; all else is
// copied, in memory aligned to 64 bytes, and swapped there. Of an other type no element is read, though its bytes may
// be known.
Result<TensorData> TensorFile::read(std::int64_t index) const {
  const std::vector<TensorEntry>& tensors = file_->list.tensors;
  if (index < 0 || static_cast<std::uint64_t>(index) >= tensors.size()) {
    throw Error("TensorFile::read",
                {"index", formatted("be at least 0 and below {}", tensors.size()), formatted("{}", index)});
  }
  const TensorEntry& entry = tensors[static_cast<std::size_t>(index)];
  if (entry.type == ElementType::other) {
    const bool known = entry.bytes >= 0 && file_->format == TensorFormat::gguf;
    return file_->error(ErrorKind::bad_type, entry, "elements of a type that can be read", entry.type_name,
                        known ? "quantised blocks are listed, not read" : "a type that is not known here");
  }
  const std::size_t unit = unit_of(entry.type);
  const bool swapped = unit > 1 && entry.big_endian != (std::endian::native == std::endian::big);
  const auto offset = static_cast<std::size_t>(entry.offset);
  const auto size = static_cast<std::size_t>(entry.bytes);
  const io::ByteSource& source = file_->source_of(entry);
  if (size == 0) return TensorData(entry, {}, nullptr);
  if (file_->access == DataAccess::map && !swapped) {
    const auto bytes = std::as_bytes(std::span(source.at_hand().substr(offset, size)));
    if (is_aligned(bytes.data(), unit)) return TensorData(entry, bytes, nullptr);
  }
  auto memory = std::make_unique_for_overwrite<TensorData::Line[]>((size - 1) / sizeof(TensorData::Line) + 1);
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(memory.get()), size);
  if (auto error = source.read(static_cast<std::uint64_t>(entry.offset), bytes, entry.name)) {
    return *std::move(error);
  }
  if (swapped) swap_bytes(bytes, unit);
  return TensorData(entry, bytes, std::move(memory));
}

}  // namespace posenc::inline v0_2
