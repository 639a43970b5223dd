// safetensors: the header's length (u64, little-endian), the header (a JSON object), the data.
//
//   {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//                                                                    https://github.com/huggingface/safetensors
//
// As strict as the reference reader: in the order of their offsets, tensors follow one another from 0 to the file's end
// without gap or overlap, and each has as many bytes as its type and shape say. Stricter: a key that stands twice is
// refused (the reference keeps the last), and the header has at most 64 MiB (there 100 MB). More lenient: a type that
// is not known here is listed, and only reading it is an error.
#include "io/tensors/safetensors.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "io/json/json.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLeastHeaderBytes = 2;  // {}

// From the header's JSON to a list. Errors of the JSON count from the header's first byte; they are moved to the
// file's.
class HeaderReader {
 public:
  HeaderReader(ByteCursor& cursor, std::uint64_t data_at) : cursor_(cursor), data_at_(data_at) {}

  TensorList read(const JsonDocument& document) {
    const JsonValue root = document.root();
    if (!document.duplicates().empty()) {
      const JsonDuplicate& twice = document.duplicates().front();
      cursor_.fail(ErrorKind::duplicate_key, kLengthBytes + static_cast<std::uint64_t>(twice.second_offset),
                   twice.pointer, "each key once", "a key that stands twice");
    } else if (document.had_byte_order_mark()) {
      cursor_.fail(ErrorKind::json_syntax, kLengthBytes, {}, "a JSON object", "a byte order mark");
    } else if (root.kind() != JsonKind::object) {
      fail(root.error(ErrorKind::type, "an object"));
    } else if (static_cast<std::uint64_t>(root.size()) > kMaxTensors) {
      fail(root.error(ErrorKind::count_too_large, formatted("at most {} tensors", kMaxTensors)));
    } else {
      if (root.offset() > 0) list_.warn("leading-space", "", "The header does not begin with '{'.");
      read_members(root);
    }
    if (!cursor_.failed()) check_order(root);
    return std::move(list_);
  }

 private:
  // Where it stands in the file; a header is one line, whose number says nothing.
  void fail(FileError error) {
    cursor_.fail(error.kind, kLengthBytes + static_cast<std::uint64_t>(std::max<std::int64_t>(error.offset, 0)),
                 std::move(error.path), std::move(error.expected), std::move(error.got), std::move(error.detail));
  }
  template <typename T>
  std::optional<T> valid(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    fail(result.error());
    return {};
  }

  void read_members(const JsonValue& root) {
    const std::vector<JsonValue> members = root.items();
    list_.tensors.reserve(members.size());
    for (const JsonValue& member : members) {
      if (cursor_.failed()) return;
      if (member.key() == kSafetensorsMetadata) {
        read_metadata(member);
      } else {
        read_tensor(member);
      }
    }
  }

  void read_metadata(const JsonValue& metadata) {
    if (metadata.kind() != JsonKind::object) return fail(metadata.error(ErrorKind::type, "an object of strings"));
    for (const JsonValue& text : metadata.items()) {
      const auto value = valid(text.as_string());
      if (!value) return;
      list_.metadata.emplace(text.key(), *value);
    }
  }

  std::optional<JsonValue> field(const JsonValue& tensor, std::string_view key) {
    const auto found = valid(tensor.find(key));
    if (found && !*found) {
      fail(tensor.error(ErrorKind::missing_key, formatted("the field {}", key)));
    }
    return found.value_or(std::nullopt);
  }

  // Each of the three fields must be there and of its type; the first that is wrong is named.
  void read_tensor(const JsonValue& tensor) {
    if (tensor.kind() != JsonKind::object) return fail(tensor.error(ErrorKind::type, "a tensor's object"));
    const auto dtype = field(tensor, "dtype");
    const auto shape = dtype ? field(tensor, "shape") : dtype;
    const auto offsets = shape ? field(tensor, "data_offsets") : shape;
    if (!offsets) return;
    if (tensor.size() > 3) {
      list_.warn("extra-field", tensor.key(), "A tensor has fields besides dtype, shape and data_offsets.");
    }
    TensorEntry entry;
    entry.name = tensor.key();
    const auto type_name = valid(dtype->as_string());
    if (!type_name) return;
    entry.type_name = type_name->substr(0, kMaxTypeName);
    entry.type = safetensors_type(*type_name);
    entry.shape = read_sizes(*shape, "an array of sizes");
    if (!cursor_.failed() && entry.shape.size() > kMaxAxes) {
      fail(shape->error(ErrorKind::limit, formatted("at most {} axes", kMaxAxes)));
    }
    if (!cursor_.failed()) read_place(entry, *shape, *offsets);
    if (!cursor_.failed()) list_.tensors.push_back(std::move(entry));
  }

  void read_place(TensorEntry& entry, const JsonValue& shape, const JsonValue& offsets) {
    const std::vector<std::int64_t> place = read_sizes(offsets, "two offsets");
    if (cursor_.failed()) return;
    if (place.size() != 2 || place[1] < place[0]) {
      return fail(offsets.error(ErrorKind::bad_offset, "two offsets, the second not below the first"));
    }
    // From the start of the data; check_order() turns it into a place in the file once all data is known to be there.
    entry.offset = place[0];
    entry.bytes = place[1] - place[0];
    const std::optional<std::int64_t> elements = element_count(entry.shape);
    if (!elements) return fail(shape.error(ErrorKind::overflow, "a shape of less than 2^63 elements"));
    entry.strides = dense_strides(entry.shape);
    if (entry.type == ElementType::other) return;
    const auto bits =
        checked_multiply(static_cast<std::uint64_t>(*elements), static_cast<std::uint64_t>(bits_of(entry.type)));
    if (!bits) return fail(shape.error(ErrorKind::overflow, "a tensor of less than 2^61 bytes"));
    if (*bits % 8 != 0) {
      return fail(shape.error(ErrorKind::block_size, "elements that fill whole bytes",
                              formatted("{} elements of {}", *elements, entry.type_name)));
    }
    if (static_cast<std::uint64_t>(entry.bytes) != *bits / 8) {
      FileError error = offsets.error(ErrorKind::length_mismatch, formatted("{} bytes", *bits / 8),
                                      formatted("{} elements of {}", *elements, entry.type_name));
      error.got = formatted("{}", entry.bytes);
      fail(std::move(error));
    }
  }

  // 4096.0 and 4e3 are no sizes, whatever else they are to JSON.
  std::vector<std::int64_t> read_sizes(const JsonValue& array, std::string_view what) {
    std::vector<std::int64_t> sizes;
    if (array.kind() != JsonKind::array) {
      fail(array.error(ErrorKind::type, std::string(what)));
      return sizes;
    }
    for (const JsonValue& item : array.items()) {
      const std::string_view text = item.text();
      const auto digit = [](char c) { return c >= '0' && c <= '9'; };
      if (item.kind() != JsonKind::number || !std::ranges::all_of(text, digit)) {
        fail(item.error(item.kind() == JsonKind::number ? ErrorKind::out_of_range : ErrorKind::type,
                        "a size: decimal digits"));
        return sizes;
      }
      const auto size = valid(item.as_int());
      if (!size) return sizes;
      sizes.push_back(*size);
    }
    return sizes;
  }

  // The format's rule against hidden data: sorted by offset, the tensors tile the data from 0 to the file's end.
  // Sorting by length too puts empty tensors before the one that begins where they stand.
  void check_order(const JsonValue& root) {
    std::ranges::stable_sort(list_.tensors, [](const TensorEntry& a, const TensorEntry& b) {
      return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
    });
    std::int64_t end = 0;
    for (TensorEntry& entry : list_.tensors) {
      if (entry.offset != end) {
        const Result<std::optional<JsonValue>> at = root.find(entry.name);
        FileError error = (*at)->error(ErrorKind::bad_offset, formatted("data from offset {} on", end),
                                       entry.offset < end ? "it overlaps the tensor before" : "a gap before it");
        error.got = formatted("{}", entry.offset);
        return fail(std::move(error));
      }
      end += entry.bytes;  // the second offset: fits
    }
    cursor_.skip(static_cast<std::uint64_t>(end), "the data");
    if (const std::uint64_t behind = cursor_.remaining().value_or(0); !cursor_.failed() && behind > 0) {
      cursor_.fail(ErrorKind::trailing_bytes, cursor_.position(), {}, "the end of the file behind the last tensor",
                   formatted("{} more bytes", behind));
    }
    if (cursor_.failed()) return;
    for (TensorEntry& entry : list_.tensors) entry.offset += static_cast<std::int64_t>(data_at_);
  }

  static constexpr std::size_t kMaxTypeName = 64;

  ByteCursor& cursor_;
  std::uint64_t data_at_;
  TensorList list_;
};

// The length comes first and is bounded before the text is read.
std::string read_header(ByteCursor& cursor) {
  const std::uint64_t length = cursor.u64("the header's length");
  if (cursor.failed()) return {};
  const auto wrong = [&](ErrorKind kind, std::string expected) {
    cursor.fail(kind, 0, {}, std::move(expected), formatted("{}", length));
  };
  if (length < kLeastHeaderBytes) wrong(ErrorKind::out_of_range, "a header of 2 bytes or more");
  if (length > static_cast<std::uint64_t>(kMaxJsonBytes)) {
    wrong(ErrorKind::limit, formatted("a header of at most {} bytes", kMaxJsonBytes));
  }
  if (cursor.failed()) return {};
  return cursor.text(static_cast<std::size_t>(length), "the header");
}

}  // namespace

ElementType safetensors_type(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kSafetensorsTypes, name, &SafetensorsType::name);
  return found == kSafetensorsTypes.end() ? ElementType::other : found->type;
}

Result<TensorList> list_safetensors(ByteCursor& cursor) {
  TensorList list;
  const std::string text = read_header(cursor);
  if (cursor.failed()) return cursor.error();
  Result<JsonDocument> document = JsonDocument::parse(text, "");
  if (document) {
    list = HeaderReader(cursor, cursor.position()).read(*document);
  } else {
    const FileError& error = document.error();
    cursor.fail(error.kind, kLengthBytes + static_cast<std::uint64_t>(std::max<std::int64_t>(error.offset, 0)),
                error.path, error.expected, error.got, error.detail);
  }
  if (cursor.failed()) return cursor.error();
  return list;
}

}  // namespace posenc::io
