#include "convert/mark.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "base/formatted.h"
#include "io/gguf/gguf.h"
#include "io/json/json.h"
#include "io/tensors/safetensors.h"
#include "posenc/plan.h"

namespace posenc::conversion {
namespace {

constexpr std::int64_t kJsonAt = 8;         // of a safetensors file, behind the header's length
constexpr std::size_t kJsonAlignment = 8;   // of the data, by spaces at the header's end
constexpr std::uint32_t kGgufTextType = 8;  // of a value, in GGUF's numbers
constexpr std::size_t kGgufTypeBytes = 4;

std::string number_bytes(std::uint64_t number, std::size_t count, bool big_endian = false) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += static_cast<char>(number >> (8 * i) & 0xFFU);
  if (big_endian) std::ranges::reverse(out);
  return out;
}

std::string spaces_up_to(std::size_t length, std::size_t alignment) {
  return std::string((alignment - length % alignment) % alignment, ' ');
}

Result<std::optional<Pairing>> pairing_of(const io::ByteSource& source, const std::string& key, std::string_view text) {
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  for (const Pairing one : {Pairing::half, Pairing::interleaved}) {
    if (text == name(one)) return std::optional(one);
  }
  FileError error;
  error.kind = ErrorKind::out_of_range;
  error.file = source.name();
  error.path = key;
  error.expected = "half or interleaved";
  error.got = std::string(text.substr(0, 64));
  error.detail = "the mark of an earlier conversion";
  return error;
}

// ---- safetensors ----

struct JsonHeader {
  std::string text;
  io::JsonDocument document;

  io::JsonValue root() const { return document.root(); }
  // Once it was listed, a file's header is an object with each key once.
  std::optional<io::JsonValue> member(const io::JsonValue& object, std::string_view key) const {
    const auto found = object.find(key);
    return found ? *found : std::nullopt;
  }
  std::optional<io::JsonValue> metadata() const { return member(root(), io::kSafetensorsMetadata); }
};

Result<JsonHeader> json_header(const io::ByteSource& source) {
  io::ByteCursor cursor = source.cursor();
  const std::uint64_t length = cursor.u64("the header's length");
  if (!cursor.failed() && length > static_cast<std::uint64_t>(io::kMaxJsonBytes)) {
    cursor.fail(ErrorKind::limit, 0, {}, formatted("a header of at most {} bytes", io::kMaxJsonBytes),
                formatted("{}", length));
  }
  std::string text = cursor.failed() ? std::string() : cursor.text(static_cast<std::size_t>(length), "the header");
  if (cursor.failed()) return cursor.error();
  Result<io::JsonDocument> document = io::JsonDocument::parse(text, source.name());
  if (!document) return document.error();
  return JsonHeader{std::move(text), std::move(*document)};
}

Splice length_splice(std::size_t length) { return {0, kJsonAt, number_bytes(length, kJsonAt)}; }

// `"KEY":   "VALUE"`, where spaces make `before`, it and `after` together fill the alignment.
std::string padded_member(std::string_view before, const std::string& key, std::string_view value,
                          std::string_view after) {
  const std::string begin = formatted("{}\"{}\":", before, key);
  const std::string end = formatted("\"{}\"{}", value, after);
  return begin + spaces_up_to(begin.size() + end.size(), kJsonAlignment) + end;
}

// What stands before the mark where a file had no __metadata__: transformers asks for the format where there is one.
std::string own_metadata() { return formatted("\"{}\":{{\"format\":\"pt\",", io::kSafetensorsMetadata); }

Splices put_json(const JsonHeader& header, const std::string& key, std::string_view value) {
  const std::optional<io::JsonValue> metadata = header.metadata();
  std::string put;
  if (!metadata) {
    put = padded_member(own_metadata(), key, value, "},");
  } else {
    // The space says, once it is taken out, that there was an object, and an empty one.
    put = padded_member("", key, value, metadata->size() == 0 ? " " : ",");
  }
  const std::int64_t at = kJsonAt + (metadata ? *metadata : header.root()).offset() + 1;
  return {length_splice(header.text.size() + put.size()), {at, 0, std::move(put)}};
}

// The bytes of a header that the mark takes, with the comma that goes with it.
std::pair<std::size_t, std::size_t> json_mark(const JsonHeader& header, const io::JsonValue& metadata,
                                              const io::JsonValue& value, const std::string& key) {
  const std::string& text = header.text;
  const auto at = static_cast<std::size_t>(value.offset());
  std::size_t begin = std::min(text.rfind(formatted("\"{}\"", key), at), at);
  std::size_t end = text.find('"', at + 1) + 1;
  const bool is_first = metadata.items().front().key() == key;
  const std::string own = own_metadata();
  const std::size_t root = static_cast<std::size_t>(header.root().offset()) + 1;
  if (metadata.size() == 1) {
    if (text.compare(end, 1, " ") == 0) ++end;
  } else if (is_first) {
    end = text.find(',', end) + 1;
  } else if (metadata.size() == 2 && begin == root + own.size() && text.compare(root, own.size(), own) == 0 &&
             text.compare(end, 2, "},") == 0) {
    begin = root;
    end += 2;
  } else {
    begin = text.rfind(',', begin);
  }
  return {begin, end};
}

Splices take_json(const JsonHeader& header, const std::string& key) {
  const std::optional<io::JsonValue> metadata = header.metadata();
  const auto value = metadata ? header.member(*metadata, key) : std::nullopt;
  if (!value) return {};
  const auto [begin, end] = json_mark(header, *metadata, *value, key);
  const std::size_t left = header.text.size() - (end - begin);
  // Of a header that another program has written since, the mark may be of any length.
  const bool is_aligned = header.text.size() % kJsonAlignment == 0;
  std::string pad = is_aligned ? spaces_up_to(left, kJsonAlignment) : std::string();
  Splices out{length_splice(left + pad.size()),
              {kJsonAt + static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin), {}}};
  if (!pad.empty()) out.push_back({kJsonAt + std::ssize(header.text), 0, std::move(pad)});
  return out;
}

// ---- GGUF ----

struct GgufKeys {
  io::GgufHeader header;
  std::uint64_t end = 0;  // of the header, before the padding

  std::size_t length_bytes() const { return header.version == 1 ? 4 : 8; }
  std::int64_t count_at() const { return 8 + static_cast<std::int64_t>(length_bytes()); }  // behind magic and version
  std::int64_t keys_at() const { return count_at() + static_cast<std::int64_t>(length_bytes()); }
  std::string length(std::uint64_t number) const { return number_bytes(number, length_bytes(), header.big_endian); }
  Splice count_splice(std::uint64_t count) const {
    return {count_at(), static_cast<std::int64_t>(length_bytes()), length(count)};
  }
};

Result<GgufKeys> gguf_keys(const io::ByteSource& source, const std::string& key) {
  io::ByteCursor cursor = source.cursor();
  const auto none = [](std::string_view) { return false; };
  Result<io::GgufHeader> header = io::read_gguf_header(
      cursor, {.key = [&](std::string_view one) { return one == key; }, .model_key = none, .tensor = none});
  if (!header) return header.error();
  return GgufKeys{std::move(*header), cursor.position()};
}

Splices put_gguf(const GgufKeys& keys, const std::string& key, std::string value) {
  const std::size_t length = 2 * keys.length_bytes() + key.size() + kGgufTypeBytes + value.size();
  value += spaces_up_to(length, keys.header.alignment);
  std::string entry = keys.length(key.size()) + key;
  entry += number_bytes(kGgufTextType, kGgufTypeBytes, keys.header.big_endian);
  entry += keys.length(value.size()) + value;
  return {keys.count_splice(keys.header.key_count + 1), {keys.keys_at(), 0, std::move(entry)}};
}

Splices take_gguf(const GgufKeys& keys, const std::string& key) {
  const io::GgufValue* const value = keys.header.find(key);
  if (value == nullptr) return {};
  const std::uint64_t before = keys.length_bytes() + key.size() + kGgufTypeBytes;
  const std::uint64_t removed = before + keys.length_bytes() + value->text.size();
  Splices out{keys.count_splice(keys.header.key_count - 1),
              {static_cast<std::int64_t>(value->offset - before), static_cast<std::int64_t>(removed), {}}};
  const std::uint64_t alignment = keys.header.alignment;
  if (removed % alignment != 0) {  // another program has written it
    const std::uint64_t pad = (alignment - (keys.end - removed) % alignment) % alignment;
    out.push_back({static_cast<std::int64_t>(keys.end), static_cast<std::int64_t>(keys.header.data_offset - keys.end),
                   std::string(pad, '\0')});
  }
  return out;
}

}  // namespace

std::int64_t growth_of(const Splices& splices) noexcept {
  std::int64_t growth = 0;
  for (const Splice& one : splices) growth += std::ssize(one.put) - one.removed;
  return growth;
}

std::string mark_key(std::string_view stack) {
  std::string out = "posenc.pairing.";
  for (const char c : stack) out += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  return out;
}

Result<std::optional<Pairing>> read_mark(const io::ByteSource& source, TensorFormat format, std::string_view stack) {
  const std::string key = mark_key(stack);
  if (format == TensorFormat::gguf) {
    const Result<GgufKeys> keys = gguf_keys(source, key);
    if (!keys) return keys.error();
    const io::GgufValue* const value = keys->header.find(key);
    if (value == nullptr) return std::optional<Pairing>{};
    return pairing_of(source, key, value->type == io::GgufType::text ? value->text : std::string("another type"));
  }
  const Result<JsonHeader> header = json_header(source);
  if (!header) return header.error();
  const std::optional<io::JsonValue> metadata = header->metadata();
  const auto value = metadata ? header->member(*metadata, key) : std::nullopt;
  if (!value) return std::optional<Pairing>{};
  return pairing_of(source, key, value->text());
}

Result<Splices> put_mark(const io::ByteSource& source, TensorFormat format, std::string_view stack, Pairing pairing) {
  const std::string key = mark_key(stack);
  if (format == TensorFormat::gguf) {
    const Result<GgufKeys> keys = gguf_keys(source, key);
    if (!keys) return keys.error();
    return put_gguf(*keys, key, std::string(name(pairing)));
  }
  const Result<JsonHeader> header = json_header(source);
  if (!header) return header.error();
  return put_json(*header, key, name(pairing));
}

Result<Splices> take_mark(const io::ByteSource& source, TensorFormat format, std::string_view stack) {
  const std::string key = mark_key(stack);
  if (format == TensorFormat::gguf) {
    const Result<GgufKeys> keys = gguf_keys(source, key);
    if (!keys) return keys.error();
    return take_gguf(*keys, key);
  }
  const Result<JsonHeader> header = json_header(source);
  if (!header) return header.error();
  return take_json(*header, key);
}

}  // namespace posenc::conversion
