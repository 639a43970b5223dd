// Reads the header of a GGUF file, versions 1 to 3: the metadata and the table of tensors, never the weights.
//
//   magic "GGUF", version u32, tensor count, key count, the keys with their values, the tensors' names, shapes, types
//   and offsets; padding; the weights.                https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// Counts and lengths are 64 bits wide, 32 in version 1. Numbers are little-endian; a file in which the version reads
// sensibly only the other way round is read as big-endian. Every value is checked; what the caller does not keep is
// passed over. What is in memory at any time is what was kept, 16 bytes a key and a tensor (to find what stands twice)
// and one block of the file, whatever the counts say.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/byte_cursor.h"
#include "posenc/error.h"

namespace posenc::io {

// What lies beyond a limit on counts or lengths is an error. Values beyond the limits of kept arrays and texts are not:
// they are passed over, and a GgufValue without numbers or text remains.
inline constexpr std::uint64_t kMaxGgufHeaderBytes = std::uint64_t{256} << 20;  // real headers: up to some 30 MB
inline constexpr std::uint64_t kMaxGgufKeys = 1'000'000;
inline constexpr std::uint64_t kMaxGgufTensors = 1'000'000;
inline constexpr std::uint64_t kMaxGgufKeyBytes = 65535;          // the format's own
inline constexpr std::uint64_t kMaxGgufTensorNameBytes = 65535;   // ggml's own is 63: longer ones get a note
inline constexpr std::uint64_t kMaxGgufAlignment = 65536;         // bytes
inline constexpr std::size_t kMaxGgufKept = 4096;                 // keys, and tensors unless the caller says more
inline constexpr std::uint64_t kMaxGgufKeptNumbers = 32768;       // of all kept arrays together
inline constexpr std::uint64_t kMaxGgufKeptTextBytes = 1u << 16;  // of all kept texts together
inline constexpr std::uint64_t kMaxGgufFactors = 8192;            // numbers of a tensor that is read

// In the order of the format's own numbers, 0 to 12.
enum class GgufType : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
// "uint32", "float32", "string": as the format's description calls them.
std::string_view name(GgufType type) noexcept;

// One number. An integer of 2^63 and more has only the double.
struct GgufNumber {
  double real = 0;
  std::optional<std::int64_t> integer;  // of the integer types, and of booleans
  bool operator==(const GgufNumber&) const = default;
};

// A key with its value. Of an array of strings only the count is kept; no caller needs a vocabulary.
struct GgufValue {
  std::string key;
  std::uint64_t offset = 0;  // of the value
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  // of an array
  std::uint64_t count = 1;          // of an array's elements
  // A number or a boolean: one. An array of them: all, or none when there are too many to keep.
  std::vector<GgufNumber> numbers;
  std::string text;  // a string; of one that is too long to keep, nothing
};

// An entry of the table of tensors. Its data begin at GgufHeader::data_offset + offset.
struct GgufTensor {
  std::string name;
  std::uint64_t at = 0;  // of its entry
  std::uint32_t dims = 0;
  std::array<std::uint64_t, 4> shape{1, 1, 1, 1};  // innermost first
  std::uint32_t type = 0;                          // ggml's number
  std::uint64_t offset = 0;                        // from the start of the weights
  std::uint64_t elements = 0;
};

// Something odd that does not hinder reading. One of a code, with the first key it was seen at.
// The codes are odd-key, odd-bool and tensor-name; plans and lists of tensors make warnings of them.
struct GgufNote {
  std::string code;
  std::string message;
  std::string key;
};

// What a header says. Counts are the file's; `values` and `tensors` hold what GgufKeep wanted.
struct GgufHeader {
  std::uint32_t version = 0;
  bool big_endian = false;
  std::uint64_t key_count = 0;
  std::uint64_t tensor_count = 0;
  std::uint64_t alignment = 32;
  std::uint64_t data_offset = 0;    // where the weights start
  std::vector<GgufValue> values;    // those kept, in the file's order
  std::vector<GgufTensor> tensors;  // those kept
  std::vector<GgufNote> notes;

  // Null where nothing of that name was kept.
  const GgufValue* find(std::string_view key) const noexcept;
  const GgufTensor* tensor(std::string_view name) const noexcept;
};

// What the caller wants to see. general.alignment is read in any case.
struct GgufKeep {
  std::function<bool(std::string_view key)> key;
  // Of keys that `key` does not want: those that may be the model's. Of these are kept the ones that begin with the
  // text of general.architecture and a dot; before it is known, all.
  std::function<bool(std::string_view key)> model_key;
  std::function<bool(std::string_view name)> tensor;
  std::size_t most_tensors = kMaxGgufKept;
};

// By the magic alone, in any byte order.
bool is_gguf(std::string_view first_bytes) noexcept;

// The cursor is at the file's start; behind a whole header it is at the table's end. Of a stream, no byte beyond is
// waited for.
// Checks, where the source's size is known, that every tensor lies within it.
Result<GgufHeader> read_gguf_header(ByteCursor& cursor, const GgufKeep& keep);

// The numbers of a small tensor of F32 or F16, each finite. The cursor's source must be able to seek.
Result<std::vector<double>> read_gguf_tensor(ByteCursor& cursor, const GgufHeader& header, const GgufTensor& tensor);

}  // namespace posenc::io
