// read_plan of bytes or of a stream: GGUF, by its first bytes, or JSON.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "io/files/byte_cursor.h"
#include "io/files/read_all.h"
#include "io/gguf/gguf.h"
#include "io/json/json.h"
#include "plan/gguf/read_gguf.h"
#include "plan/read/config.h"

namespace posenc::inline v0_2 {

namespace {

// Reads `count` bytes or up to the end.
std::string read_first(const ByteStream& stream, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const std::ptrdiff_t got = stream(reinterpret_cast<std::byte*>(bytes.data()) + have, count - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // an error comes again at the next read
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

Result<Plan> read_plan(std::span<const std::byte> model_file, std::string_view name, const ReadOptions& options) {
  plan::require_length(options);
  const std::string_view bytes(reinterpret_cast<const char*>(model_file.data()), model_file.size());
  if (!io::is_gguf(bytes)) return plan::read_config(bytes, {SourceKind::config_json, std::string(name)}, options);
  io::ByteCursor cursor(bytes, std::string(name));
  return plan::read_gguf(cursor, {SourceKind::gguf, std::string(name)}, options);
}

Result<Plan> read_plan(const ByteStream& stream, std::string_view name, const ReadOptions& options) {
  plan::require_length(options);
  const std::string first = read_first(stream, 4);
  std::size_t given = 0;  // of `first`
  const io::ReadSome read_some = [&](char* to, std::size_t count) -> std::ptrdiff_t {
    if (given == first.size()) return stream(reinterpret_cast<std::byte*>(to), count);
    const std::size_t part = std::min(count, first.size() - given);
    std::memcpy(to, first.data() + given, part);
    given += part;
    return static_cast<std::ptrdiff_t>(part);
  };
  if (io::is_gguf(first)) {
    io::ByteCursor cursor(read_some, std::string(name));
    return plan::read_gguf(cursor, {SourceKind::gguf, std::string(name)}, options);
  }
  const Result<std::string> text = io::read_all(read_some, 0, io::kMaxJsonBytes);
  if (text) return plan::read_config(*text, {SourceKind::config_json, std::string(name)}, options);
  FileError error = text.error();
  error.file = std::string(name);
  return error;
}

}  // namespace posenc::inline v0_2
