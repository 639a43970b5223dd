// JsonValue and JsonDocument: typed access to the tree of json_tree.h. Asking for another type than is there gives a
// FileError with file, line, column, JSON pointer, what was expected and what came.
#include "io/json/json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/formatted.h"
#include "io/json/json_number.h"
#include "io/json/json_tree.h"

namespace posenc::io {
namespace {

// How much of a value an error repeats.
constexpr std::size_t kMaxShownValue = 60;

std::string plural(std::uint32_t count, std::string_view one) {
  return formatted("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

std::string_view name(JsonKind kind) noexcept {
  switch (kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "boolean";
    case JsonKind::number: return "number";
    case JsonKind::string: return "string";
    case JsonKind::array: return "array";
    case JsonKind::object: return "object";
  }
  return "unknown";
}

JsonKind JsonValue::kind() const noexcept { return tree_->nodes[node_].kind; }

Result<bool> JsonValue::as_bool() const {
  if (kind() != JsonKind::boolean) return type_error("true or false");
  return tree_->nodes[node_].truth;
}

// The error tells a text that said Infinity (it ends in 'y') from a number like 1e400 that overflowed.
Result<double> JsonValue::as_double() const {
  if (kind() != JsonKind::number) return type_error("a number");
  const double value = to_double(text());
  if (std::isnan(value)) return error(ErrorKind::not_finite, "a finite number");
  if (std::isinf(value)) {
    const bool said_so = text().back() == 'y';
    return error(ErrorKind::not_finite, "a finite number", said_so ? "" : "larger than the largest double");
  }
  return value;
}

std::optional<double> JsonValue::finite() const noexcept {
  if (kind() != JsonKind::number) return {};
  const double value = to_double(text());
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

Result<std::int64_t> JsonValue::as_int() const {
  if (kind() != JsonKind::number) return type_error("an integer");
  const Whole whole = to_whole(text());
  switch (whole.state) {
    case WholeState::whole: return whole.value;
    case WholeState::fraction: return error(ErrorKind::out_of_range, "an integer", "a fraction remains");
    case WholeState::too_large: return error(ErrorKind::out_of_range, "an integer from -2^63 to 2^63 - 1");
    case WholeState::not_a_number: break;
  }
  return error(ErrorKind::not_finite, "an integer");
}

Result<std::string_view> JsonValue::as_string() const {
  if (kind() != JsonKind::string) return type_error("a string");
  return text();
}

std::string_view JsonValue::text() const noexcept {
  if (kind() != JsonKind::number && kind() != JsonKind::string) return {};
  return tree_->content(node_);
}

std::int64_t JsonValue::size() const noexcept { return tree_->nodes[node_].members; }

std::vector<JsonValue> JsonValue::items() const {
  std::vector<JsonValue> out;
  out.reserve(tree_->nodes[node_].members);
  for (std::uint32_t n = tree_->first_value(node_); n != kNoNode; n = tree_->next_value(node_, n)) {
    out.push_back(JsonValue(tree_, n));
  }
  return out;
}

std::string_view JsonValue::key() const noexcept { return tree_->key_of(node_); }

// A binary search in the object's run of by_key, where equal keys are neighbours: the next one shows a duplicate.
Result<std::optional<JsonValue>> JsonValue::find(std::string_view key) const {
  const JsonNode& object = tree_->nodes[node_];
  if (object.kind != JsonKind::object) return std::optional<JsonValue>{};
  const auto first = tree_->by_key.begin() + object.content;
  const auto last = first + object.members;
  const auto found = std::lower_bound(first, last, key, [this](std::uint32_t node, std::string_view wanted) {
    return key_before(tree_->content(node), wanted);
  });
  if (found == last || tree_->content(*found) != key) return std::optional<JsonValue>{};
  if (found + 1 != last && tree_->content(*(found + 1)) == key) return duplicate_error(*found, *(found + 1));
  return std::optional<JsonValue>(JsonValue(tree_, *found + 1));
}

std::string JsonValue::pointer() const { return tree_->pointer(node_); }

std::int64_t JsonValue::offset() const noexcept { return tree_->nodes[node_].offset; }

FileError JsonValue::error(ErrorKind kind, std::string expected, std::string detail) const {
  FileError out = tree_->error_at(kind, tree_->nodes[node_].offset);
  out.path = tree_->pointer(node_, kMaxShownPointer);
  out.expected = std::move(expected);
  out.got = description();
  out.detail = std::move(detail);
  return out;
}

// "4096" in quotes, which YAML or a template engine made of a number, is a frequent slip: the error gives a hint.
FileError JsonValue::type_error(std::string_view expected) const {
  const bool quoted = kind() == JsonKind::string && !text().empty() && scan_number(text()).length == text().size() &&
                      scan_number(text()).expected.empty();
  return error(ErrorKind::type, std::string(expected), quoted ? "a number takes no quotes" : "");
}

FileError JsonValue::duplicate_error(std::uint32_t first_key, std::uint32_t second_key) const {
  const std::int64_t first_line = tree_->error_at(ErrorKind::json_duplicate_key, tree_->nodes[first_key].offset).line;
  FileError out = tree_->error_at(ErrorKind::json_duplicate_key, tree_->nodes[second_key].offset);
  out.path = tree_->pointer(second_key + 1, kMaxShownPointer);
  out.expected = "the key once";
  out.got = formatted("it on lines {} and {}", first_line, out.line);
  return out;
}

std::string JsonValue::description() const {
  const JsonNode& node = tree_->nodes[node_];
  switch (node.kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return node.truth ? "true" : "false";
    case JsonKind::number: return shorten(text(), kMaxShownValue);
    case JsonKind::string: return formatted("\"{}\"", shorten(text(), kMaxShownValue));
    case JsonKind::array: return formatted("an array of {}", plural(node.members, "value"));
    case JsonKind::object: return formatted("an object of {}", plural(node.members, "member"));
  }
  return {};
}

JsonDocument::JsonDocument(std::unique_ptr<const JsonTree> tree) : tree_(std::move(tree)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const noexcept { return {tree_.get(), 0}; }

const std::vector<JsonDuplicate>& JsonDocument::duplicates() const noexcept { return tree_->duplicates; }

bool JsonDocument::had_byte_order_mark() const noexcept { return tree_->text_begin > 0; }

}  // namespace posenc::io
