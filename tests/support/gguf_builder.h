// Writes small GGUF files, good and bad: of any version, either byte order, with counts that lie.
//
//   GgufBuilder().text("general.architecture", "llama").u32("llama.block_count", 2).bytes()
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace posenc::test {

// GGUF's numbers of the types of values.
enum class Gguf : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
inline constexpr std::uint32_t kF32 = 0;  // ggml's numbers of the types of tensors
inline constexpr std::uint32_t kF16 = 1;
inline constexpr std::uint32_t kQ8 = 8;

class GgufBuilder {
 public:
  explicit GgufBuilder(std::uint32_t version = 3, bool big_endian = false) : version_(version), big_(big_endian) {}

  // ---- keys ----
  GgufBuilder& text(std::string_view key, std::string_view value) {
    return head(key, Gguf::text).put_text(keys_, value);
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t value) { return head(key, Gguf::u32).put(keys_, value, 4); }
  GgufBuilder& i32(std::string_view key, std::int32_t value) {
    return head(key, Gguf::i32).put(keys_, std::bit_cast<std::uint32_t>(value), 4);
  }
  GgufBuilder& u64(std::string_view key, std::uint64_t value) { return head(key, Gguf::u64).put(keys_, value, 8); }
  GgufBuilder& f32(std::string_view key, float value) {
    return head(key, Gguf::f32).put(keys_, std::bit_cast<std::uint32_t>(value), 4);
  }
  GgufBuilder& f64(std::string_view key, double value) {
    return head(key, Gguf::f64).put(keys_, std::bit_cast<std::uint64_t>(value), 8);
  }
  GgufBuilder& flag(std::string_view key, bool value) { return byte(key, Gguf::boolean, value ? 1 : 0); }
  GgufBuilder& byte(std::string_view key, Gguf type, std::uint8_t value) {
    return head(key, type).put(keys_, value, 1);
  }
  GgufBuilder& i32s(std::string_view key, const std::vector<std::int32_t>& values) {
    array_head(key, Gguf::i32, values.size());
    for (const std::int32_t value : values) put(keys_, std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  GgufBuilder& flags(std::string_view key, const std::vector<bool>& values) {
    array_head(key, Gguf::boolean, values.size());
    for (const bool value : values) put(keys_, value ? 1 : 0, 1);
    return *this;
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& values) {
    array_head(key, Gguf::text, values.size());
    for (const std::string& value : values) put_text(keys_, value);
    return *this;
  }
  // A key with a type of any number and whatever bytes follow.
  GgufBuilder& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    head(key, static_cast<Gguf>(type));
    keys_ += value;
    return *this;
  }
  // An array's type and length, and nothing behind them.
  GgufBuilder& array_head(std::string_view key, Gguf element, std::uint64_t count) {
    head(key, Gguf::array).put(keys_, static_cast<std::uint32_t>(element), 4);
    return put_length(keys_, count);
  }

  // ---- tensors ----
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::uint32_t type = kF32;
    std::optional<std::uint64_t> offset{};  // absent: where ggml's rule puts it
    std::optional<std::uint32_t> dims{};    // absent: as many as shape has
    std::string data{};
  };
  GgufBuilder& tensor(const Tensor& tensor) {
    const std::uint64_t begin = (data_.size() + alignment_ - 1) / alignment_ * alignment_;
    put_text(tensors_, tensor.name);
    put(tensors_, tensor.dims.value_or(static_cast<std::uint32_t>(tensor.shape.size())), 4);
    for (const std::uint64_t dim : tensor.shape) put_length(tensors_, dim);
    put(tensors_, tensor.type, 4);
    put(tensors_, tensor.offset.value_or(begin), 8);
    data_.resize(begin, '\0');
    data_ += tensor.data;
    ++tensor_count_;
    return *this;
  }
  GgufBuilder& floats(std::string_view name, const std::vector<float>& values) {
    std::string data;
    for (const float value : values) put(data, std::bit_cast<std::uint32_t>(value), 4);
    return tensor({.name = std::string(name), .shape = {values.size()}, .data = data});
  }
  // Just there: so many numbers of type F32, all 0.
  GgufBuilder& zeros(std::string_view name, const std::vector<std::uint64_t>& shape) {
    std::uint64_t count = 4;
    for (const std::uint64_t dim : shape) count *= dim;
    return tensor({.name = std::string(name), .shape = shape, .data = std::string(count, '\0')});
  }

  // ---- lies ----
  GgufBuilder& key_count(std::uint64_t count) { return lie(key_count_, count); }
  GgufBuilder& tensor_count(std::uint64_t count) { return lie(tensors_said_, count); }
  GgufBuilder& magic(std::string_view magic) {
    magic_ = magic;
    return *this;
  }
  GgufBuilder& alignment(std::uint64_t bytes) {
    alignment_ = bytes;
    return *this;
  }

  // Magic, version, counts, keys, table.
  std::string header() const {
    std::string out = magic_;
    put(out, version_, 4);
    put_length(out, tensors_said_.value_or(tensor_count_));
    put_length(out, key_count_.value_or(keys_written_));
    return out + keys_ + tensors_;
  }
  std::string bytes() const {
    std::string out = header();
    if (!data_.empty()) out.resize((out.size() + alignment_ - 1) / alignment_ * alignment_, '\0');
    return out + data_;
  }

 private:
  GgufBuilder& head(std::string_view key, Gguf type) {
    ++keys_written_;
    return put_text(keys_, key).put(keys_, static_cast<std::uint32_t>(type), 4);
  }
  GgufBuilder& put_text(std::string& to, std::string_view text) {
    put_length(to, text.size());
    to += text;
    return *this;
  }
  const GgufBuilder& put_length(std::string& to, std::uint64_t length) const {
    return put(to, length, version_ == 1 ? 4 : 8);
  }
  GgufBuilder& put_length(std::string& to, std::uint64_t length) {
    static_cast<const GgufBuilder&>(*this).put_length(to, length);
    return *this;
  }
  const GgufBuilder& put(std::string& to, std::uint64_t value, int bytes) const {
    for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * (big_ ? bytes - 1 - i : i)));
    return *this;
  }
  GgufBuilder& put(std::string& to, std::uint64_t value, int bytes) {
    static_cast<const GgufBuilder&>(*this).put(to, value, bytes);
    return *this;
  }
  GgufBuilder& lie(std::optional<std::uint64_t>& about, std::uint64_t count) {
    about = count;
    return *this;
  }

  std::uint32_t version_;
  bool big_;
  std::string magic_ = "GGUF";
  std::string keys_;
  std::string tensors_;
  std::string data_;
  std::uint64_t keys_written_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t alignment_ = 32;
  std::optional<std::uint64_t> key_count_;
  std::optional<std::uint64_t> tensors_said_;
};

}  // namespace posenc::test
