#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "fuzz/mutator.h"
#include "fuzz/words.h"

namespace posenc::fuzz {
namespace {

// Where a count, a length or a value may go wrong: limits of types and of the reader, and small numbers.
constexpr std::uint64_t kNumbers[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      8,
                                      12,
                                      13,
                                      32,
                                      63,
                                      64,
                                      127,
                                      255,
                                      256,
                                      1024,
                                      1025,
                                      4096,
                                      32769,
                                      65535,
                                      65536,
                                      0x3f800000,
                                      0x461c4000,
                                      0x7f800000,
                                      0x7fc00000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xbf800000,
                                      0xffffffff,
                                      std::uint64_t{1} << 32,
                                      (std::uint64_t{1} << 42) + 1,
                                      std::uint64_t{1} << 61,
                                      std::uint64_t{1} << 62,
                                      (std::uint64_t{1} << 62) - 1,
                                      std::uint64_t{1} << 63,
                                      ~std::uint64_t{0}};
constexpr std::array<std::size_t, 13> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // of the value types
constexpr std::uint32_t kText = 8;
constexpr std::uint32_t kArray = 9;
constexpr std::size_t kHeaderBytes = 24;  // of versions 2 and 3: magic, version, two counts
constexpr std::size_t kTensorCountAt = 8;
constexpr std::size_t kKeyCountAt = 16;
constexpr std::size_t kMaxRecords = 256;

template <typename T>
std::string bytes_of(T number) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &number, sizeof(T));
  return out;
}

std::string text_of(std::string_view text) { return bytes_of(std::uint64_t{text.size()}).append(text); }

struct Record {
  std::size_t begin;
  std::size_t end;
  std::vector<std::size_t> numbers;  // where its lengths, types and values stand
};

// Follows the records of a little-endian file as far as they make sense.
class Walk {
 public:
  explicit Walk(std::string_view bytes) : bytes_(bytes) {
    const std::uint64_t keys = number<std::uint64_t>(kKeyCountAt).value_or(0);
    at_ = kHeaderBytes;
    while (keys_.size() < keys && keys_.size() < kMaxRecords && record(keys_, &Walk::key)) {
    }
    if (keys_.size() != keys) return;
    const std::uint64_t tensors = number<std::uint64_t>(kTensorCountAt).value_or(0);
    while (tensors_.size() < tensors && tensors_.size() < kMaxRecords && record(tensors_, &Walk::tensor)) {
    }
  }
  const std::vector<Record>& keys() const { return keys_; }
  const std::vector<Record>& tensors() const { return tensors_; }

 private:
  template <typename T>
  std::optional<T> number(std::size_t at) const {
    T value;
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) return {};
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  template <typename T>
  std::optional<T> take() {
    const auto value = number<T>(at_);
    if (!value) return {};
    now_.push_back(at_);
    at_ += sizeof(T);
    return value;
  }
  bool skip(std::uint64_t count) {
    if (count > bytes_.size() - at_) return false;
    at_ += static_cast<std::size_t>(count);
    return true;
  }
  bool text() {
    const auto length = take<std::uint64_t>();
    return length && skip(*length);
  }
  bool value(std::uint32_t type) {
    if (type == kText) return text();
    if (type == kArray || type >= kSizes.size()) return false;
    now_.push_back(at_);
    return skip(kSizes[type]);
  }
  bool array() {
    const auto element = take<std::uint32_t>();
    const auto count = take<std::uint64_t>();
    for (std::uint64_t i = 0; element && count && i < *count; ++i) {
      if (i == kMaxRecords || !value(*element)) return false;
    }
    return count.has_value();
  }
  bool key() {
    if (!text()) return false;
    const auto type = take<std::uint32_t>();
    return type && (*type == kArray ? array() : value(*type));
  }
  bool tensor() {
    if (!text()) return false;
    const auto dims = take<std::uint32_t>();
    if (!dims || *dims > 4) return false;
    for (std::uint32_t i = 0; i < *dims; ++i) take<std::uint64_t>();
    take<std::uint32_t>();
    return take<std::uint64_t>().has_value();
  }
  bool record(std::vector<Record>& records, bool (Walk::*read)()) {
    now_.clear();
    const std::size_t begin = at_;
    if (!(this->*read)()) return false;
    records.push_back({begin, at_, now_});
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<std::size_t> now_;
  std::vector<Record> keys_;
  std::vector<Record> tensors_;
};

class Mutation {
 public:
  Mutation(std::string_view bytes, std::uint32_t seed) : bytes_(bytes), walk_(bytes), random_(seed) {}

  std::string make() {
    if (bytes_.size() < kHeaderBytes) return bytes_;
    const bool of_tensors = !walk_.tensors().empty() && below(4) == 0;
    const std::vector<Record>& records = of_tensors ? walk_.tensors() : walk_.keys();
    const std::size_t count_at = of_tensors ? kTensorCountAt : kKeyCountAt;
    if (records.empty()) return insert(kHeaderBytes, key_record(), kKeyCountAt);
    const Record& record = records[below(records.size())];
    switch (below(8)) {
      case 0: return change_count(record.begin, record.end - record.begin, "", count_at, -1);
      case 1: return insert(record.begin, bytes_.substr(record.begin, record.end - record.begin), count_at);
      case 2:
      case 3: return insert(kHeaderBytes, key_record(), kKeyCountAt);
      case 4: return overwrite(below(2) == 0 ? kKeyCountAt : kTensorCountAt, 8);
      case 5: return rename(record);
      default: return overwrite(record.numbers[below(record.numbers.size())], std::size_t{1} << below(4));
    }
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  std::uint64_t number() { return kNumbers[below(std::size(kNumbers))]; }
  std::string word() { return std::string(kWords[below(std::size(kWords))]); }

  // Keys of an architecture start with its name, which is the first text of most files.
  std::string key_name() {
    switch (below(4)) {
      case 0: return word();
      case 1: return "general." + word();
      default: return architecture() + "." + word();
    }
  }
  std::string architecture() const {
    constexpr std::string_view kKey = "general.architecture";
    const std::size_t at = bytes_.find(kKey);
    if (at == std::string::npos) return "llama";
    const std::size_t text = at + kKey.size() + 4 + 8;
    if (text >= bytes_.size()) return "llama";
    return bytes_.substr(text, std::min<std::size_t>(static_cast<unsigned char>(bytes_[text - 8]), 32));
  }

  std::string value(std::uint32_t type) {
    if (type == kText) return text_of(word());
    return bytes_of(number()).substr(0, kSizes[type]);
  }
  std::string key_record() {
    const auto type = static_cast<std::uint32_t>(below(kSizes.size()));
    std::string out = text_of(key_name()) + bytes_of(type);
    if (type != kArray) return out + value(type);
    const auto element = static_cast<std::uint32_t>(below(kArray));
    const std::uint64_t count = below(9);
    out += bytes_of(element) + bytes_of(count);
    for (std::uint64_t i = 0; i < count; ++i) out += value(element);
    return out;
  }

  std::string insert(std::size_t at, const std::string& what, std::size_t count_at) const {
    return change_count(at, 0, what, count_at, 1);
  }
  std::string change_count(std::size_t at, std::size_t length, const std::string& with, std::size_t count_at,
                           int by) const {
    std::string out = bytes_;
    out.replace(at, length, with);
    std::uint64_t count = 0;
    std::memcpy(&count, out.data() + count_at, sizeof count);
    count += static_cast<std::uint64_t>(std::int64_t{by});
    std::memcpy(out.data() + count_at, &count, sizeof count);
    return out;
  }
  std::string overwrite(std::size_t at, std::size_t length) {
    std::string out = bytes_;
    if (at >= out.size()) return out;
    length = std::min(length, out.size() - at);
    const std::string with = bytes_of(number());
    return out.replace(at, length, with.substr(0, length));
  }
  std::string rename(const Record& record) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data() + record.begin, sizeof length);
    std::string out = bytes_;
    return out.replace(record.begin, sizeof length + static_cast<std::size_t>(length), text_of(key_name()));
  }

  std::string bytes_;
  Walk walk_;
  std::minstd_rand random_;
};

}  // namespace

std::string mutate(std::string_view bytes, std::uint32_t seed) { return Mutation(bytes, seed).make(); }

}  // namespace posenc::fuzz
