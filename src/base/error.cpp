#include "posenc/error.h"

#include <fmt/format.h>

#include "base/escape.h"

namespace posenc {

Error::Error(std::string_view where, const Problem& problem)
    : std::invalid_argument(fmt::format("[{}] {}{}must {} but is {}", where, problem.field,
                                        problem.field.empty() ? "" : " ", problem.must, problem.is)),
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
    case ErrorKind::bad_plan: return "bad_plan";
  }
  return "unknown";
}

std::string FileError::message() const {
  std::string out = escape(file);
  if (line >= 0) out += fmt::format(":{}", line);
  if (line >= 0 && column >= 0) out += fmt::format(":{}", column);
  if (!path.empty()) out += fmt::format("{}{}", out.empty() ? "" : ": ", escape(path));
  if (!expected.empty()) out += fmt::format("{}expected {}", out.empty() ? "" : ": ", escape(expected));
  if (!got.empty()) out += fmt::format("{}got {}", expected.empty() ? ": " : ", ", escape(got));
  if (!detail.empty()) out += fmt::format(" ({})", escape(detail));
  return out;
}

}  // namespace posenc
