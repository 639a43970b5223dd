// Messages of posenc/error.h: "[where] field must MUST but is IS" of Error, and the one line of FileError. In both,
// text from a file or a caller is escaped (base/escape.h) so that it can be shown on a terminal and is UTF-8.
#include "posenc/error.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "base/escape.h"
#include "base/formatted.h"

namespace posenc::inline v0_2 {

Error::Error(std::string_view where, const Problem& problem)
    : std::invalid_argument(escape(formatted("[{}] {}{}must {} but is {}", where, problem.field,
                                             problem.field.empty() ? "" : " ", problem.must, problem.is))),
      problem_(problem) {}

std::string_view name(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::io_open: return "io_open";
    case ErrorKind::io_read: return "io_read";
    case ErrorKind::not_regular_file: return "not_regular_file";
    case ErrorKind::bad_path: return "bad_path";
    case ErrorKind::limit: return "limit";
    case ErrorKind::empty: return "empty";
    case ErrorKind::wrong_format: return "wrong_format";
    case ErrorKind::json_encoding: return "json_encoding";
    case ErrorKind::json_utf8: return "json_utf8";
    case ErrorKind::json_syntax: return "json_syntax";
    case ErrorKind::json_depth: return "json_depth";
    case ErrorKind::json_duplicate_key: return "json_duplicate_key";
    case ErrorKind::json_trailing: return "json_trailing";
    case ErrorKind::type: return "type";
    case ErrorKind::not_finite: return "not_finite";
    case ErrorKind::out_of_range: return "out_of_range";
    case ErrorKind::not_divisible: return "not_divisible";
    case ErrorKind::length_mismatch: return "length_mismatch";
    case ErrorKind::missing_key: return "missing_key";
    case ErrorKind::missing_layer_type: return "missing_layer_type";
    case ErrorKind::unknown_rope_type: return "unknown_rope_type";
    case ErrorKind::not_a_model_config: return "not_a_model_config";
    case ErrorKind::truncated: return "truncated";
    case ErrorKind::unsupported_version: return "unsupported_version";
    case ErrorKind::count_too_large: return "count_too_large";
    case ErrorKind::bad_key: return "bad_key";
    case ErrorKind::duplicate_key: return "duplicate_key";
    case ErrorKind::bad_type: return "bad_type";
    case ErrorKind::nested_array: return "nested_array";
    case ErrorKind::bad_alignment: return "bad_alignment";
    case ErrorKind::bad_tensor: return "bad_tensor";
    case ErrorKind::overflow: return "overflow";
    case ErrorKind::block_size: return "block_size";
    case ErrorKind::bad_offset: return "bad_offset";
    case ErrorKind::bad_value: return "bad_value";
    case ErrorKind::bad_sections: return "bad_sections";
    case ErrorKind::split: return "split";
    case ErrorKind::bad_plan: return "bad_plan";
    case ErrorKind::header_syntax: return "header_syntax";
    case ErrorKind::trailing_bytes: return "trailing_bytes";
    case ErrorKind::io_write: return "io_write";
    case ErrorKind::output_exists: return "output_exists";
  }
  return "unknown";
}

namespace {

// A message is a line: of a key of a megabyte, or of what stands at it, this many bytes and how long it is.
constexpr std::size_t kMostShown = 1024;

std::string shown_part(std::string_view text) {
  if (text.size() <= kMostShown) return escape(text);
  std::size_t cut = kMostShown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;  // not within a character
  return formatted("{}... ({} bytes)", escape(text.substr(0, cut)), text.size());
}

}  // namespace

std::string FileError::message() const {
  std::string out = escape(file);
  const auto append = [&out](std::string_view separator, std::string_view part) {
    if (!out.empty()) out += separator;
    out += part;
  };
  if (line >= 0) append(":", formatted("{}", line));
  if (line >= 0 && column >= 0) append(":", formatted("{}", column));
  if (line < 0 && offset >= 0) append(": ", formatted("byte {}", offset));
  if (!path.empty()) append(": ", shown_part(path));
  if (kind == ErrorKind::io_open) {  // as every other program says it: "cannot open: No such file or directory"
    append(": ", formatted("cannot open: {}", escape(got)));
  } else {
    if (!expected.empty()) append(": ", formatted("expected {}", shown_part(expected)));
    if (!got.empty()) append(expected.empty() ? ": " : ", ", formatted("got {}", shown_part(got)));
  }
  if (!detail.empty()) append(" ", formatted("({})", shown_part(detail)));
  return out;
}

}  // namespace posenc::inline v0_2
