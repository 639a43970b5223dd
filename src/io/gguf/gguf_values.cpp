// The metadata of a GGUF file: keys and values of the 13 types of ggml's docs/gguf.md, strings and arrays among them. A
// count is checked against what is left of the file before a loop is entered; values that nobody asked for are skipped.
//
//   entry: key (length, bytes), type u32, value
//   value: a number of the type's size | string: length, bytes | array: element type u32, count, elements
//
// Lengths and counts are u64, u32 in version 1 (GgufReading::length). general.alignment is read whatever the caller
// wants: the table of tensors depends on it.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"
#include "io/gguf/gguf_names.h"
#include "io/gguf/gguf_parts.h"
#include "io/gguf/gguf_types.h"

namespace posenc::io {
namespace {

constexpr std::string_view kAlignment = "general.alignment";
constexpr std::string_view kArchitecture = "general.architecture";

class ValueReader {
 public:
  explicit ValueReader(GgufReading& reading) : reading_(reading), cursor_(reading.cursor) {}

  void read_all() {
    for (std::uint64_t n = 1; n <= reading_.header.key_count && !cursor_.failed(); ++n) read_entry(n);
    if (cursor_.failed()) return;
    if (const auto twice = names_.repeated()) {
      cursor_.fail(ErrorKind::duplicate_key, twice->second, {}, "each key once", "a key that stands twice",
                   formatted("first at byte {}", twice->first));
    }
  }

 private:
  // The n-th, from 1.
  void read_entry(std::uint64_t n) {
    const std::uint64_t offset = cursor_.position();
    std::string key = read_key(n);
    if (cursor_.failed()) return;
    names_.add(key, offset);
    GgufValue value{.key = std::move(key)};
    value.type = read_type(value.key, "the type of a value");
    value.offset = cursor_.position();
    const bool alignment = value.key == kAlignment;
    const bool kept = alignment || wanted(value.key);
    if (!cursor_.failed()) read_value(value, kept);
    if (cursor_.failed()) return;
    if (alignment) set_alignment(value);
    if (kept) keep(std::move(value));
  }

  // general.architecture comes first in files of llama.cpp's converters, but need not: until it was seen, every key
  // that may be a model's is kept.
  bool wanted(std::string_view key) const {
    if (reading_.keep.key(key)) return true;
    return reading_.keep.model_key(key) && (model_.empty() || key.starts_with(model_));
  }

  std::string read_key(std::uint64_t n) {
    const std::uint64_t offset = cursor_.position();
    const std::uint64_t length = reading_.length(formatted("the length of key {} of {}", n, reading_.header.key_count));
    if (cursor_.failed()) return {};
    if (length == 0 || length > kMaxGgufKeyBytes) {
      cursor_.fail(ErrorKind::bad_key, offset, {}, formatted("a key of 1 to {} bytes", kMaxGgufKeyBytes),
                   formatted("{}", length));
      return {};
    }
    std::string key = cursor_.text(static_cast<std::size_t>(length), "a key");
    if (!cursor_.failed() && !is_clean_gguf_name(key)) {
      cursor_.fail(ErrorKind::bad_key, offset + reading_.length_bytes(), {},
                   "a key in UTF-8 without control characters", key.substr(0, 64));
    }
    const auto odd = [](char c) { return c == ' ' || (c >= 'A' && c <= 'Z'); };
    if (std::ranges::any_of(key, odd)) {
      reading_.note("odd-key", key, "A key has spaces or capitals: keys are lower_snake_case.");
    }
    return key;
  }

  GgufType read_type(const std::string& key, std::string_view what) {
    const std::uint64_t offset = cursor_.position();
    const std::uint32_t number = cursor_.u32(what);
    const std::optional<GgufType> type = gguf_type(number);
    if (type || cursor_.failed()) return type.value_or(GgufType::u8);
    cursor_.fail(ErrorKind::bad_type, offset, key, "a type from 0 to 12", formatted("{}", number));
    return GgufType::u8;
  }

  void read_value(GgufValue& value, bool kept) {
    switch (value.type) {
      case GgufType::text: return read_text(value, kept);
      case GgufType::array: return read_array(value, kept);
      default: value.numbers.push_back(read_number(value.type, value.key));
    }
  }

  // Only integers of u64 above 2^63 - 1 have no `integer`; a float has none even where it is whole.
  GgufNumber read_number(GgufType type, const std::string& key) {
    const auto signed_number = [](std::int64_t number) { return GgufNumber{static_cast<double>(number), number}; };
    switch (type) {
      case GgufType::u8: return signed_number(cursor_.u8(key));
      case GgufType::i8: return signed_number(std::bit_cast<std::int8_t>(cursor_.u8(key)));
      case GgufType::u16: return signed_number(cursor_.u16(key));
      case GgufType::i16: return signed_number(std::bit_cast<std::int16_t>(cursor_.u16(key)));
      case GgufType::u32: return signed_number(cursor_.u32(key));
      case GgufType::i32: return signed_number(std::bit_cast<std::int32_t>(cursor_.u32(key)));
      case GgufType::i64: return signed_number(std::bit_cast<std::int64_t>(cursor_.u64(key)));
      case GgufType::f32: return {double{std::bit_cast<float>(cursor_.u32(key))}, {}};
      case GgufType::f64: return {std::bit_cast<double>(cursor_.u64(key)), {}};
      case GgufType::u64: {
        const std::uint64_t number = cursor_.u64(key);
        if (number > INT64_MAX) return {static_cast<double>(number), {}};
        return signed_number(static_cast<std::int64_t>(number));
      }
      case GgufType::boolean: {
        const std::uint8_t number = cursor_.u8(key);
        if (number > 1) reading_.note("odd-bool", key, "A boolean is neither 0 nor 1; it was taken for true.");
        return signed_number(number == 0 ? 0 : 1);
      }
      case GgufType::text:
      case GgufType::array: break;
    }
    return {};
  }

  // A length that the rest of the file does not hold fails in text() or skip().
  void read_text(GgufValue& value, bool kept) {
    value.count = reading_.length(value.key);
    if (kept && value.count <= kMaxGgufKeptTextBytes - text_bytes_) {
      text_bytes_ += value.count;
      value.text = cursor_.text(static_cast<std::size_t>(value.count), value.key);
    } else {
      cursor_.skip(value.count, value.key);
    }
  }

  void read_array(GgufValue& value, bool kept) {
    const std::uint64_t offset = cursor_.position();
    value.element = read_type(value.key, "the type of an array's elements");
    if (value.element == GgufType::array) {
      cursor_.fail(ErrorKind::nested_array, offset, value.key, "an array of numbers or strings", "an array of arrays");
    }
    value.count = reading_.length("the length of an array");
    if (cursor_.failed()) return;
    const bool texts = value.element == GgufType::text;
    const std::uint64_t least = texts ? reading_.length_bytes() : gguf_size(value.element);
    // Before any loop: are so many elements there at all?
    const std::uint64_t bytes = checked_multiply(value.count, least).value_or(UINT64_MAX);
    if (bytes > cursor_.remaining().value_or(UINT64_MAX)) return cursor_.skip(bytes, value.key);
    if (texts) return skip_texts(value);
    if (!kept || value.count > kMaxGgufKeptNumbers - numbers_) return cursor_.skip(bytes, value.key);
    numbers_ += value.count;
    for (std::uint64_t i = 0; i < value.count && !cursor_.failed(); ++i) {
      value.numbers.push_back(read_number(value.element, value.key));
    }
  }

  // Each string's length must be read to find the next. A string takes the bytes of its length at least, so where the
  // size of the source is known, the check before has bounded the loop.
  void skip_texts(const GgufValue& value) {
    for (std::uint64_t i = 0; i < value.count && !cursor_.failed(); ++i) {
      const std::uint64_t length = reading_.length(value.key);
      cursor_.skip(length, value.key);
    }
  }

  void set_alignment(const GgufValue& value) {
    if (value.type != GgufType::u32) {
      return cursor_.fail(ErrorKind::type, value.offset, value.key, "a uint32", std::string(name(value.type)));
    }
    const auto alignment = static_cast<std::uint64_t>(value.numbers.front().integer.value_or(0));
    if (!std::has_single_bit(alignment) || alignment > kMaxGgufAlignment) {
      return cursor_.fail(ErrorKind::bad_alignment, value.offset, value.key,
                          formatted("a power of two from 1 to {}", kMaxGgufAlignment), formatted("{}", alignment));
    }
    reading_.header.alignment = alignment;
  }

  // From the moment that the architecture is known, other models' keys are dropped.
  void keep(GgufValue value) {
    if (reading_.header.values.size() == kMaxGgufKept) {
      return cursor_.fail(ErrorKind::limit, value.offset, value.key,
                          formatted("at most {} keys of a model", kMaxGgufKept), "more");
    }
    if (value.key == kArchitecture && !value.text.empty()) model_ = value.text + ".";
    reading_.header.values.push_back(std::move(value));
  }

  GgufReading& reading_;
  ByteCursor& cursor_;
  GgufNames names_;
  std::string model_;             // "llama.", once it is known
  std::uint64_t numbers_ = 0;     // of kept arrays
  std::uint64_t text_bytes_ = 0;  // of kept texts
};

}  // namespace

void read_gguf_values(GgufReading& reading) { ValueReader(reading).read_all(); }

}  // namespace posenc::io
