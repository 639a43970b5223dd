// A bounded JSON reader: text -> a flat tree that keeps byte offsets, for files that may be hostile.
//
// Beyond RFC 8259 it accepts what model files really carry: bare NaN, Infinity and -Infinity (as numbers, refused when
// asked for), and a UTF-8 byte order mark. Duplicate keys are kept and marked: asking for one is an error. Numbers keep
// their text: 1e400 and 400-digit integers are refused only when they are asked for.
// Memory: at most 24 bytes per byte of text plus 1 MiB, 12 per byte of what models publish. Time: n log n.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/error.h"

namespace posenc::io {

// Real configs take some KiB; safetensors' headers and indices of shards up to megabytes.
inline constexpr std::int64_t kMaxJsonBytes = 64LL << 20;
inline constexpr std::int64_t kMaxJsonDepth = 128;  // arrays and objects that stand open at once
inline constexpr std::int64_t kMaxListedDuplicates = 256;

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };
std::string_view name(JsonKind kind) noexcept;

class JsonDocument;
struct JsonTree;

// A handle on one value of a document, cheap to copy; valid as long as the document is.
class JsonValue {
 public:
  JsonKind kind() const noexcept;
  // A key with the value null is present: find() gives it, and the caller decides what null means.
  bool is_null() const noexcept { return kind() == JsonKind::null; }

  // Each of these asks for a value of one type and says what is wrong when it is another.
  Result<bool> as_bool() const;
  Result<double> as_double() const;               // finite, else ErrorKind::not_finite
  std::optional<double> finite() const noexcept;  // as_double() without a message, which costs a look at all before it
  Result<std::int64_t> as_int() const;            // 4096.0 is 4096; 4096.5 and 2^63 are ErrorKind::out_of_range
  Result<std::string_view> as_string() const;
  std::string_view text() const noexcept;  // a number's own text, a string's content; else empty

  // Members in file order, of an array or an object; empty for anything else.
  std::int64_t size() const noexcept;
  std::vector<JsonValue> items() const;
  std::string_view key() const noexcept;  // of a member of an object; else empty
  // The member of that name. Nothing when absent or when this is no object.
  // When the key stands twice, the error says so with both lines.
  Result<std::optional<JsonValue>> find(std::string_view key) const;

  std::string pointer() const;  // JSON pointer (RFC 6901) from the root: "/rope_scaling/factor"; root is ""
  std::int64_t offset() const noexcept;
  // An error about this value: place and what came are filled in.
  FileError error(ErrorKind kind, std::string expected, std::string detail = {}) const;
  std::string description() const;  // what messages say that it is: "4", "\"yarn\"", "an array of 3 values"

 private:
  friend class JsonDocument;
  JsonValue(const JsonTree* tree, std::uint32_t node) : tree_(tree), node_(node) {}
  FileError type_error(std::string_view expected) const;
  FileError duplicate_error(std::uint32_t first_key, std::uint32_t second_key) const;

  const JsonTree* tree_;
  // Into tree_->nodes; 0 is the root.
  std::uint32_t node_;
};

// Of one key: the pointer is that of the second value, the lines are those of both keys.
struct JsonDuplicate {
  std::string pointer;  // cut short where it is longer than any honest one
  std::int64_t first_line = 0;
  std::int64_t second_line = 0;
  std::int64_t second_offset = 0;
};

class JsonDocument {
 public:
  // `name` stands for the file in errors. The document keeps a copy of the text.
  static Result<JsonDocument> parse(std::string_view text, std::string_view name);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue root() const noexcept;
  // Keys that stand more than once in one object, in file order; at most kMaxListedDuplicates of them.
  const std::vector<JsonDuplicate>& duplicates() const noexcept;
  bool had_byte_order_mark() const noexcept;

 private:
  explicit JsonDocument(std::unique_ptr<const JsonTree> tree);
  std::unique_ptr<const JsonTree> tree_;
};

}  // namespace posenc::io
