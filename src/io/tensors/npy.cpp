// A .npy file's one tensor (NumPy's numpy.lib.format): its header (npy_header.h), element type, and that the data are
// as long as the shape says. Object arrays would need pickle and are refused.
#include <algorithm>
#include <array>
#include <utility>

#include "base/formatted.h"
#include "io/tensors/npy_header.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

struct NpyType {
  std::string_view code;  // NumPy's kind and bytes
  ElementType type;
};
constexpr std::array<NpyType, 15> kNpyTypes = {{{"b1", ElementType::boolean},
                                                {"i1", ElementType::i8},
                                                {"i2", ElementType::i16},
                                                {"i4", ElementType::i32},
                                                {"i8", ElementType::i64},
                                                {"u1", ElementType::u8},
                                                {"u2", ElementType::u16},
                                                {"u4", ElementType::u32},
                                                {"u8", ElementType::u64},
                                                {"f2", ElementType::f16},
                                                {"f4", ElementType::f32},
                                                {"f8", ElementType::f64},
                                                {"c8", ElementType::complex64},
                                                {"c16", ElementType::complex128},
                                                {"V2", ElementType::bf16}}};

// Why a type that NumPy has is not read.
std::string_view why_not(std::string_view code) {
  if (code.starts_with('V')) return "raw bytes; if they are bf16, the caller must say so";
  switch (code.empty() ? '\0' : code[0]) {
    case 'O': return "pickled Python objects are never loaded";
    case 'U':
    case 'S': return "text is no tensor";
    case 'M':
    case 'm': return "dates are no tensor";
    default: return "not a type that is read";
  }
}

// descr is a byte order and a code, "<f4". Raw words of 2 bytes are bf16 only if the caller says so, and then u2 is
// too: the file cannot tell them from integers.
void set_type(TensorEntry& entry, ByteCursor& cursor, const NpyHeader& header, bool raw16_is_bf16) {
  const std::string_view descr = header.descr;
  const char order = descr.empty() ? '\0' : descr[0];
  const std::string_view code = descr.empty() ? descr : descr.substr(1);
  const auto* const found = std::ranges::find(kNpyTypes, code, &NpyType::code);
  const bool raw = code == "V2";
  // '|' says that there is no byte order; '=' would be that of a machine that the file does not name.
  const bool ordered = order == '<' || order == '>' || (order == '|' && (raw || code.ends_with('1')));
  if (found == kNpyTypes.end() || !ordered || (raw && !raw16_is_bf16)) {
    return cursor.fail(ErrorKind::bad_type, header.descr_at, "descr", "a number type with its byte order, as '<f4'",
                       header.descr.substr(0, 64), std::string(why_not(code)));
  }
  entry.type = raw16_is_bf16 && code == "u2" ? ElementType::bf16 : found->type;
  entry.type_name = header.descr;
  entry.big_endian = order == '>';
}

}  // namespace

TensorEntry read_npy_entry(ByteCursor& cursor, bool raw16_is_bf16) {
  NpyHeader header = read_npy_header(cursor);
  TensorEntry entry;
  if (!cursor.failed()) set_type(entry, cursor, header, raw16_is_bf16);
  if (cursor.failed()) return entry;
  entry.shape = std::move(header.shape);
  const std::optional<std::int64_t> elements = element_count(entry.shape);
  const std::optional<std::int64_t> bytes = elements ? byte_count(*elements, entry.type) : elements;
  if (!bytes) {
    cursor.fail(ErrorKind::overflow, header.shape_at, "shape", "an array of less than 2^61 bytes", "a larger one");
    return entry;
  }
  entry.strides = dense_strides(entry.shape, header.fortran_order);
  entry.offset = static_cast<std::int64_t>(cursor.position());
  entry.bytes = *bytes;
  return entry;
}

Result<TensorList> list_npy(ByteCursor& cursor, bool raw16_is_bf16) {
  TensorEntry entry = read_npy_entry(cursor, raw16_is_bf16);
  if (cursor.failed()) return cursor.error();
  TensorList list;
  cursor.skip(static_cast<std::uint64_t>(entry.bytes), "the elements");
  if (cursor.failed()) return cursor.error();
  if (const std::uint64_t behind = cursor.remaining().value_or(0); behind > 0) {
    list.warn("trailing-bytes", "", formatted("{} bytes follow the array's last element.", behind));
  }
  list.tensors.push_back(std::move(entry));
  return list;
}

}  // namespace posenc::io
