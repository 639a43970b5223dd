// The header of a GGUF file (ggml's docs/gguf.md; gguf.h has the layout): magic, version and byte order, counts with
// their bounds, and the numbers of small tensors such as llama.cpp's rope_freqs.weight. Keys: gguf_values.cpp, tensors:
// gguf_tensors.cpp.
#include "io/gguf/gguf.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "base/utf8.h"
#include "io/gguf/gguf_parts.h"
#include "io/gguf/gguf_types.h"

namespace posenc::io {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::uint32_t kLastVersion = 3;

std::uint32_t swapped(std::uint32_t value) {
  return value >> 24 | (value >> 8 & 0xFF00U) | (value << 8 & 0xFF0000U) | value << 24;
}

// The magic is bytes and has no order; the version is the first number, and small. 3 written on a big-endian machine
// reads as 0x03000000, so what makes sense only with its bytes swapped says that the rest is swapped too.
void read_version(GgufReading& reading) {
  ByteCursor& cursor = reading.cursor;
  const std::uint32_t stored = cursor.u32("the version");
  const bool other_way = swapped(stored) >= 1 && swapped(stored) <= kLastVersion;
  reading.header.big_endian = other_way;
  reading.header.version = other_way ? swapped(stored) : stored;
  cursor.set_big_endian(other_way);
  if (cursor.failed() || (reading.header.version >= 1 && reading.header.version <= kLastVersion)) return;
  cursor.fail(ErrorKind::unsupported_version, kGgufMagic.size(), {}, "GGUF version 1, 2 or 3", formatted("{}", stored));
}

// A count beyond what the rest of the file could hold at `least` bytes an entry is refused before any entry is read.
std::uint64_t read_count(GgufReading& reading, std::string_view what, std::uint64_t most, std::uint64_t least) {
  ByteCursor& cursor = reading.cursor;
  const std::uint64_t offset = cursor.position();
  const std::uint64_t count = reading.length(what);
  const std::uint64_t bound = std::min(most, cursor.remaining().value_or(UINT64_MAX) / least);
  if (!cursor.failed() && count > bound) {
    cursor.fail(ErrorKind::count_too_large, offset, {}, formatted("at most {} for {}", bound, what),
                formatted("{}", count),
                bound == most
                    ? "a stated limit"
                    : formatted("each takes {} bytes or more, and {} are left", least, cursor.remaining().value_or(0)));
  }
  return count;
}

void read_header(GgufReading& reading) {
  ByteCursor& cursor = reading.cursor;
  const std::string magic = cursor.text(kGgufMagic.size(), "the magic GGUF");
  if (cursor.failed()) return;
  if (magic != kGgufMagic) return cursor.fail(ErrorKind::wrong_format, 0, {}, "GGUF, the magic of a GGUF file", magic);
  read_version(reading);
  if (cursor.failed()) return;
  // The least entries: a length, a name of one byte (none for a tensor), a type, a value of one byte; a length, the
  // number of dimensions (none), a type, an offset.
  const std::uint64_t length = reading.length_bytes();
  reading.header.tensor_count = read_count(reading, "the number of tensors", kMaxGgufTensors, length + 4 + 4 + 8);
  reading.header.key_count = read_count(reading, "the number of keys", kMaxGgufKeys, length + 1 + 4 + 1);
  if (!cursor.failed()) read_gguf_values(reading);
  if (!cursor.failed()) read_gguf_tensors(reading);
}

// IEEE 754 binary16: (1 + f / 1024) 2^(e - 15) = (1024 + f) 2^(e - 25); subnormal: f 2^-24. For factors only, so it is
// not fast.
double from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int fraction = bits & 0x3FF;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1F) return fraction == 0 ? sign * HUGE_VAL : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

// A hostile file can have a million odd keys: one note a code, and 256 bytes of its key.
void GgufReading::note(std::string_view code, std::string_view key, std::string message) {
  const auto same = [&](const GgufNote& note) { return note.code == code; };
  if (std::ranges::any_of(header.notes, same)) return;
  header.notes.push_back({std::string(code), std::move(message), std::string(key.substr(0, 256))});
}

bool is_clean_gguf_name(std::string_view name) noexcept {
  while (!name.empty()) {
    const CodePoint point = first_code_point(name);
    if (point.length == 0 || steers_a_terminal(point.value)) return false;
    name.remove_prefix(point.length);
  }
  return true;
}

bool is_gguf(std::string_view first_bytes) noexcept { return first_bytes.starts_with(kGgufMagic); }

const GgufValue* GgufHeader::find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(values, key, &GgufValue::key);
  return found == values.end() ? nullptr : &*found;
}

const GgufTensor* GgufHeader::tensor(std::string_view name) const noexcept {
  const auto found = std::ranges::find(tensors, name, &GgufTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

// The limit holds for the header alone: factors are read behind it with the same cursor.
Result<GgufHeader> read_gguf_header(ByteCursor& cursor, const GgufKeep& keep) {
  cursor.set_limit(kMaxGgufHeaderBytes);
  GgufReading reading{.cursor = cursor, .keep = keep, .header = {}};
  read_header(reading);
  cursor.set_limit(UINT64_MAX);
  if (cursor.failed()) return cursor.error();
  return std::move(reading.header);
}

// Every failure sticks to the cursor, so the steps follow one another without a test, and the last line decides.
Result<std::vector<double>> read_gguf_tensor(ByteCursor& cursor, const GgufHeader& header, const GgufTensor& tensor) {
  const bool half = tensor.type == kGgmlF16;
  if (!half && tensor.type != kGgmlF32) {
    cursor.fail(ErrorKind::type, tensor.at, tensor.name, "numbers of type F32 or F16", ggml_type_name(tensor.type));
  } else if (tensor.elements > kMaxGgufFactors) {
    cursor.fail(ErrorKind::limit, tensor.at, tensor.name, formatted("at most {} numbers", kMaxGgufFactors),
                formatted("{}", tensor.elements));
  }
  // The table was checked: the sum fits.
  const std::optional<std::uint64_t> begin = checked_add(header.data_offset, tensor.offset);
  const std::string what = formatted("the numbers of tensor '{}'", tensor.name);
  cursor.seek(begin.value_or(UINT64_MAX), what);
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < tensor.elements && !cursor.failed(); ++i) {
    const std::uint64_t at = cursor.position();
    const double number = half ? from_half(cursor.u16(what)) : double{std::bit_cast<float>(cursor.u32(what))};
    if (!cursor.failed() && !std::isfinite(number)) {
      cursor.fail(ErrorKind::not_finite, at, tensor.name, "a finite number", formatted("{}", number),
                  formatted("number {} of {}", i, tensor.elements));
    }
    numbers.push_back(number);
  }
  if (cursor.failed()) return cursor.error();
  return numbers;
}

}  // namespace posenc::io
